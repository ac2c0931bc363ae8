// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_PROMETHEUS_METRICS_H_
#define ZKRECIPES_PROMETHEUS_METRICS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "zkrecipes/client.h"
#include "zkrecipes/event_listener.h"

namespace prometheus {
class Registry;  // prometheus-cpp's
}

namespace [[gnu::visibility("default")]] zkrecipes {

namespace [[gnu::visibility("hidden")]] internal {
class SessionSeries;
}

// How paths and durations are grouped.
struct PrometheusOptions {
  // Gives the label `group` of a path. Each group has some 50 time series, so the number of groups
  // must be bounded. Empty: the path without its last part ("/locks" of "/locks/ledger"). Runs when
  // a recipe is constructed, on the thread that constructs it: on several threads at once, if need
  // be.
  std::function<std::string(const std::string& path)> group = {};
  // Further groups are counted together, as the group "other".
  int max_groups = 100;
  // Upper bounds of the histograms' buckets, in seconds and ascending.
  std::vector<double> wait_buckets = {.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300};
  std::vector<double> hold_buckets = {.001, .01, .1, 1, 10, 60, 600, 3600};
  // Labels of all series: to tell clients apart that share a registry. They replace none that a
  // metric has by itself (docs/metrics.md).
  std::map<std::string, std::string> labels = {};
};

// Counts the events of a client's acquires, leases and sessions in a prometheus-cpp registry
// (link zkrecipes::prometheus). docs/metrics.md lists the metrics, and has alerts and a
// dashboard.
//
//   auto metrics = std::make_shared<PrometheusMetrics>(registry);
//   auto client = Client::Connect({.servers = "zk1:2181",
//                                  .listener = metrics,
//                                  .on_session_report = metrics->SessionReports()});
//   const Subscription states = metrics->Follow(**client);
//
// Thread-safe; does not block. One object may serve several clients: their counters add up, and so
// do the gauges of leases and partitions; another gauge shows the client that changed last. Give
// each client its own object, with a label, to tell them apart.
class PrometheusMetrics : public EventListener {
 public:
  // Throws as prometheus-cpp does: std::invalid_argument for a label with an invalid name.
  explicit PrometheusMetrics(std::shared_ptr<prometheus::Registry> registry,
                             PrometheusOptions options = {});
  ~PrometheusMetrics() override;

  // For ClientOptions::on_session_report. May outlive this object.
  std::function<void(const SessionReport&)> SessionReports() const;
  // The client's state, until the subscription is destroyed.
  Subscription Follow(Client& client) const;

  EventListener* AtOnce(const std::string& path) override;  // the listener of the path's group

 private:
  class Groups;

  const std::shared_ptr<internal::SessionSeries> sessions_;
  const std::unique_ptr<Groups> groups_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_PROMETHEUS_METRICS_H_

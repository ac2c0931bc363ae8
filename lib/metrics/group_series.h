// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_METRICS_GROUP_SERIES_H_
#define ZKRECIPES_LIB_METRICS_GROUP_SERIES_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "zkrecipes/event_listener.h"
#include "zkrecipes/lease_end.h"
#include "zkrecipes/prometheus_metrics.h"
#include "zkrecipes/sequencer.h"

namespace zkrecipes::internal {

// Contenders are refused from this number on. (lib/queue says so, but an installed shared library does not
// export that.)
inline constexpr int64_t kSequenceEnd = (int64_t{1} << 31) - 1 - (1 << 20);

// The families of the series about acquires and leases. Thread-safe.
struct GroupFamilies {
  GroupFamilies(std::shared_ptr<prometheus::Registry> its_registry,
                const PrometheusOptions& options);

  const std::shared_ptr<prometheus::Registry> registry;
  const prometheus::Labels labels;
  const prometheus::Histogram::BucketBoundaries wait_buckets;
  const prometheus::Histogram::BucketBoundaries hold_buckets;
  prometheus::Family<prometheus::Counter>& acquires;
  prometheus::Family<prometheus::Counter>& losses;
  prometheus::Family<prometheus::Counter>& places_lost;
  prometheus::Family<prometheus::Counter>& suspects;
  prometheus::Family<prometheus::Counter>& held_too_long;
  prometheus::Family<prometheus::Histogram>& wait;
  prometheus::Family<prometheus::Histogram>& hold;
  prometheus::Family<prometheus::Gauge>& held;
  prometheus::Family<prometheus::Gauge>& position;
  prometheus::Family<prometheus::Gauge>& headroom;
};

// The series of one group of paths. Thread-safe.
class GroupSeries : public EventListener {
 public:
  GroupSeries(GroupFamilies& families, const std::string& group);

  void OnQueued(const std::string& path, int waits_for, const std::string& behind) override;
  void OnPlaceLost(const std::string& path) override;
  void OnGranted(const Sequencer& lease, int64_t session, absl::Duration after) override;
  void OnNotGranted(const std::string& path, const absl::Status& why,
                    absl::Duration after) override;
  void OnSuspect(const Sequencer& lease) override;
  void OnHeldTooLong(const Sequencer& lease, absl::Duration held) override;
  void OnLost(const Sequencer& lease, LeaseEnd why) override;
  void OnReleased(const Sequencer& lease, absl::Duration held) override;

 private:
  using Counters = std::map<std::string, prometheus::Counter*>;
  static Counters ByLabel(prometheus::Family<prometheus::Counter>& family,
                          const prometheus::Labels& labels, const char* name,
                          const std::vector<const char*>& values);

  const prometheus::Labels labels_;
  // All are there from the beginning: an increase from nothing to one would not be seen.
  const Counters outcomes_;
  const Counters reasons_;
  prometheus::Counter& grants_;
  prometheus::Counter& places_lost_;
  prometheus::Counter& suspects_;
  prometheus::Counter& held_too_long_;
  prometheus::Histogram& wait_;
  prometheus::Histogram& hold_;
  prometheus::Gauge& held_;
  prometheus::Gauge& position_;
  prometheus::Gauge& headroom_;
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_METRICS_GROUP_SERIES_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_METRICS_SESSION_SERIES_H_
#define ZKRECIPES_LIB_METRICS_SESSION_SERIES_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <map>
#include <memory>
#include <string>

#include "lib/base/mutex.h"
#include "zkrecipes/client.h"
#include "zkrecipes/session_report.h"

namespace zkrecipes::internal {

// The series about a client and its sessions. Thread-safe.
class SessionSeries {
 public:
  SessionSeries(std::shared_ptr<prometheus::Registry> registry,
                const std::map<std::string, std::string>& labels);

  void OnReport(const SessionReport& report);
  void OnState(ClientState state);

 private:
  void Lower(double margin);
  prometheus::Labels Labels(prometheus::Labels more) const;

  const std::shared_ptr<prometheus::Registry> registry_;
  const prometheus::Labels labels_;
  prometheus::Histogram& round_trip_;
  prometheus::Histogram& margin_ratio_;
  prometheus::Gauge& sessions_;
  prometheus::Family<prometheus::Gauge>& lowest_margin_;
  prometheus::Family<prometheus::Gauge>& path_bytes_;
  prometheus::Family<prometheus::Gauge>& state_;
  prometheus::Family<prometheus::Counter>& states_;

  base::Mutex mutex_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
  prometheus::Gauge* lowest_ ABSL_GUARDED_BY(mutex_) = nullptr;  // once there was a margin
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_METRICS_SESSION_SERIES_H_

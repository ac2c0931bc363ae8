// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/prometheus_metrics.h"

#include <utility>

#include "absl/container/flat_hash_map.h"

#include "lib/base/mutex.h"
#include "lib/metrics/group_series.h"
#include "lib/metrics/session_series.h"

namespace zkrecipes {
namespace {

std::string Parent(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

}  // namespace

// The series of each group, made when the group is first heard of.
class PrometheusMetrics::Groups {
 public:
  Groups(std::shared_ptr<prometheus::Registry> registry, PrometheusOptions options)
      : families_(std::move(registry), options), options_(std::move(options)) {}

  internal::GroupSeries& Of(const std::string& path) {
    std::string name = options_.group == nullptr ? Parent(path) : options_.group(path);
    base::MutexLock lock(mutex_);
    if (const auto it = groups_.find(name); it != groups_.end()) return *it->second;
    if (groups_.size() >= static_cast<size_t>(options_.max_groups)) name = "other";
    auto& group = groups_[name];
    if (group == nullptr) group = std::make_unique<internal::GroupSeries>(families_, name);
    return *group;
  }

 private:
  internal::GroupFamilies families_;
  const PrometheusOptions options_;
  base::Mutex mutex_;
  absl::flat_hash_map<std::string, std::unique_ptr<internal::GroupSeries>> groups_
      ABSL_GUARDED_BY(mutex_);
};

PrometheusMetrics::PrometheusMetrics(std::shared_ptr<prometheus::Registry> registry,
                                     PrometheusOptions options)
    : sessions_(std::make_shared<internal::SessionSeries>(registry, options.labels)),
      groups_(std::make_unique<Groups>(std::move(registry), std::move(options))) {}

PrometheusMetrics::~PrometheusMetrics() = default;

std::function<void(const SessionReport&)> PrometheusMetrics::SessionReports() const {
  return [sessions = sessions_](const SessionReport& report) { sessions->OnReport(report); };
}

Subscription PrometheusMetrics::Follow(Client& client) const {
  return client.OnStateChange(
      [sessions = sessions_](ClientState state) { sessions->OnState(state); });
}

void PrometheusMetrics::OnQueued(const std::string& path, int waits_for,
                                 const std::string& /*behind*/) {
  groups_->Of(path).Queued(waits_for);
}
void PrometheusMetrics::OnPlaceLost(const std::string& path) { groups_->Of(path).PlaceLost(); }
void PrometheusMetrics::OnGranted(const Sequencer& lease, int64_t /*session*/,
                                  absl::Duration after) {
  groups_->Of(lease.path()).Granted(lease, after);
}
void PrometheusMetrics::OnNotGranted(const std::string& path, const absl::Status& why,
                                     absl::Duration /*after*/) {
  groups_->Of(path).NotGranted(why);
}
void PrometheusMetrics::OnSuspect(const Sequencer& lease) { groups_->Of(lease.path()).Suspect(); }
void PrometheusMetrics::OnHeldTooLong(const Sequencer& lease, absl::Duration /*held*/) {
  groups_->Of(lease.path()).HeldTooLong();
}
void PrometheusMetrics::OnLost(const Sequencer& lease, LeaseEnd why) {
  groups_->Of(lease.path()).Lost(why);
}
void PrometheusMetrics::OnReleased(const Sequencer& lease, absl::Duration held) {
  groups_->Of(lease.path()).Released(held);
}

}  // namespace zkrecipes

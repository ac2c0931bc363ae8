// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/prometheus_metrics.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

#include "lib/base/mutex.h"
#include "lib/metrics/group_series.h"
#include "lib/metrics/session_series.h"

namespace zkrecipes {
namespace {

absl::string_view Parent(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos || slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

// The series of each group, made when the group is first heard of.
class PrometheusMetrics::Groups {
 public:
  Groups(std::shared_ptr<prometheus::Registry> registry, PrometheusOptions options)
      : families_(std::move(registry), options), options_(std::move(options)) {}

  internal::GroupSeries& Of(const std::string& path) {
    return options_.group == nullptr ? Named(Parent(path)) : Named(options_.group(path));
  }
  internal::GroupSeries& Of(const Sequencer& lease) { return Of(lease.path()); }

 private:
  internal::GroupSeries& Named(absl::string_view name) {
    base::MutexLock lock(mutex_);
    auto at = groups_.find(name);
    if (at == groups_.end()) {
      if (groups_.size() >= static_cast<size_t>(options_.max_groups)) name = "other";
      at = groups_.try_emplace(name).first;
      if (at->second == nullptr) {
        at->second = std::make_unique<internal::GroupSeries>(families_, std::string(name));
      }
    }
    return *at->second;
  }

  internal::GroupFamilies families_;
  const PrometheusOptions options_;
  base::Mutex mutex_;
  // Nothing is erased.
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

EventListener* PrometheusMetrics::AtOnce(const std::string& path) { return &groups_->Of(path); }
// From a listener that passes on what it hears.
void PrometheusMetrics::OnQueued(const std::string& path, int waits_for,
                                 const std::string& behind) {
  groups_->Of(path).OnQueued(path, waits_for, behind);
}
void PrometheusMetrics::OnPlaceLost(const std::string& path) {
  groups_->Of(path).OnPlaceLost(path);
}
void PrometheusMetrics::OnGranted(const Sequencer& lease, int64_t session, absl::Duration after) {
  groups_->Of(lease).OnGranted(lease, session, after);
}
void PrometheusMetrics::OnNotGranted(const std::string& path, const absl::Status& why,
                                     absl::Duration after) {
  groups_->Of(path).OnNotGranted(path, why, after);
}
void PrometheusMetrics::OnSuspect(const Sequencer& lease) { groups_->Of(lease).OnSuspect(lease); }
void PrometheusMetrics::OnHeldTooLong(const Sequencer& lease, absl::Duration held) {
  groups_->Of(lease).OnHeldTooLong(lease, held);
}
void PrometheusMetrics::OnLost(const Sequencer& lease, LeaseEnd why) {
  groups_->Of(lease).OnLost(lease, why);
}
void PrometheusMetrics::OnReleased(const Sequencer& lease, absl::Duration held) {
  groups_->Of(lease).OnReleased(lease, held);
}

}  // namespace zkrecipes

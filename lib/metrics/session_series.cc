// SPDX-License-Identifier: Apache-2.0

#include "lib/metrics/session_series.h"

#include <algorithm>
#include <array>
#include <utility>

namespace zkrecipes::internal {
namespace {

constexpr std::array kStates = {
    std::pair{ClientState::kConnected, "connected"},
    std::pair{ClientState::kSuspended, "suspended"},
    std::pair{ClientState::kExpired, "expired"},
    std::pair{ClientState::kClosed, "closed"},
};

const prometheus::Histogram::BucketBoundaries kRoundTrips = {.0005, .001, .0025, .005, .01, .025,
                                                             .05,   .1,   .25,   .5,   1,   5};
// Of the session timeout.
const prometheus::Histogram::BucketBoundaries kRatios = {0, .01, .02, .05, .1, .15, .2, .3, .5, 1};

}  // namespace

SessionSeries::SessionSeries(std::shared_ptr<prometheus::Registry> registry,
                             const std::map<std::string, std::string>& labels)
    : registry_(std::move(registry)),
      labels_(labels),
      round_trip_(prometheus::BuildHistogram()
                      .Name("zkrecipes_session_round_trip_seconds")
                      .Help("Round trips of a sample of the requests.")
                      .Register(*registry_)
                      .Add(labels, kRoundTrips)),
      margin_ratio_(prometheus::BuildHistogram()
                        .Name("zkrecipes_deadline_margin_ratio")
                        .Help("What was left of the deadline that leases rest on when it was "
                              "extended, by session timeouts.")
                        .Register(*registry_)
                        .Add(labels, kRatios)),
      sessions_(prometheus::BuildGauge()
                    .Name("zkrecipes_sessions")
                    .Help("Sessions that the client has opened, of 32 at most.")
                    .Register(*registry_)
                    .Add(labels)),
      lowest_margin_(prometheus::BuildGauge()
                         .Name("zkrecipes_deadline_margin_lowest_seconds")
                         .Help("The least that was ever left of such a deadline.")
                         .Register(*registry_)),
      path_bytes_(prometheus::BuildGauge()
                      .Name("zkrecipes_session_path_bytes")
                      .Help("Bytes of paths in a session's nodes and watches, of 524288 each.")
                      .Register(*registry_)),
      state_(prometheus::BuildGauge()
                 .Name("zkrecipes_client_state")
                 .Help("1 for the client's current state, 0 for the others.")
                 .Register(*registry_)),
      states_(prometheus::BuildCounter()
                  .Name("zkrecipes_client_state_changes_total")
                  .Help("How often the client came into this state.")
                  .Register(*registry_)) {}

prometheus::Labels SessionSeries::Labels(prometheus::Labels more) const {
  more.insert(labels_.begin(), labels_.end());
  return more;
}

void SessionSeries::OnReport(const SessionReport& report) {
  round_trip_.Observe(absl::ToDoubleSeconds(report.round_trip));
  if (report.least_left.has_value()) {
    margin_ratio_.Observe(absl::FDivDuration(*report.least_left, report.timeout));
    Lower(absl::ToDoubleSeconds(*report.least_left));
  }
  const std::string session = std::to_string(report.index);
  path_bytes_.Add(Labels({{"session", session}, {"of", "nodes"}}))
      .Set(static_cast<double>(report.node_bytes));
  path_bytes_.Add(Labels({{"session", session}, {"of", "watches"}}))
      .Set(static_cast<double>(report.watch_bytes));
  base::MutexLock lock(mutex_);
  count_ = std::max(count_, report.index + 1);
  sessions_.Set(count_);
}

void SessionSeries::Lower(double margin) {
  base::MutexLock lock(mutex_);
  const bool first = lowest_ == nullptr;
  if (first) lowest_ = &lowest_margin_.Add(labels_);
  if (first || margin < lowest_->Value()) lowest_->Set(margin);
}

void SessionSeries::OnState(ClientState state) {
  for (const auto& [each, name] : kStates) {
    state_.Add(Labels({{"state", name}})).Set(each == state ? 1 : 0);
    if (each == state) states_.Add(Labels({{"state", name}})).Increment();
  }
}

}  // namespace zkrecipes::internal

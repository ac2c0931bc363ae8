// SPDX-License-Identifier: Apache-2.0

#include "lib/session/machine/silence.h"

#include <algorithm>
#include <utility>

namespace zkrecipes::session::machine {
namespace {

constexpr int kQuickFraction = 20;  // of T

// T.
absl::Duration Bounded(absl::Duration timeout) {
  return std::clamp(timeout, absl::Seconds(1), absl::Seconds(40));
}

}  // namespace

void Silence::Connected(base::BootTime began) {
  waiting_ = 0;
  first_ = 0;
  touched_ = began;
}

void Silence::Asked(uint64_t number, base::BootTime now) {
  if (first_ == 0) first_ = number;
  if (waiting_++ == 0) since_ = now;
}

bool Silence::Answered(uint64_t number, base::BootTime sent, base::BootTime now,
                       absl::Duration timeout, bool committed) {
  // Of an earlier connection, or of none: it says nothing of this one.
  if (waiting_ == 0 || number < first_) return false;
  --waiting_;
  since_ = now;
  touched_ = sent;
  const absl::Duration t = Bounded(timeout);
  const absl::Duration took = now - sent;
  const bool quick = committed && took <= t / kQuickFraction;
  if (!quick && took < slowest_ && now - slowest_at_ <= t) return false;
  slowest_at_ = now;
  return std::exchange(slowest_, took) > t / kQuickFraction && quick;
}

void Silence::Left(base::BootTime now) {
  slowest_ = 2 * (now - since_);
  slowest_at_ = now;
}

base::BootTime Silence::LeaveAt(base::BootTime lost, absl::Duration timeout) const {
  if (waiting_ == 0) return base::BootTime::InfiniteFuture();
  const absl::Duration t = Bounded(timeout);
  // Without a lease, the session counts, which the ensemble keeps for a timeout after its last
  // touch.
  const base::BootTime end = lost > since_ ? lost : touched_ + t;
  const absl::Duration patience = std::clamp((end - since_) / 4, t / kQuickFraction, t / 4);
  const bool recent = since_ - slowest_at_ <= t;
  return since_ + (recent ? std::max(patience, 2 * slowest_) : patience);
}

}  // namespace zkrecipes::session::machine

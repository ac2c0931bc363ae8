// SPDX-License-Identifier: Apache-2.0

#include "lib/session/machine/silence.h"

#include <algorithm>

namespace zkrecipes::session::machine {
namespace {

constexpr int kQuickFraction = 20;  // of T

// T.
absl::Duration Bounded(absl::Duration timeout) {
  return std::clamp(timeout, absl::Seconds(1), absl::Seconds(40));
}

}  // namespace

void Silence::Asked(uint64_t number, base::BootTime now) {
  if (!waiting()) since_ = now;
  asked_ = number;
}

void Silence::Answered(uint64_t number, base::BootTime sent, base::BootTime now,
                       absl::Duration timeout) {
  // Of an earlier connection, or of none: it says nothing of this one.
  if (number <= answered_ || number > asked_) return;
  if (now - since_ <= Bounded(timeout) / kQuickFraction) patient_ = false;
  answered_ = number;
  since_ = now;
  touched_ = sent;
}

base::BootTime Silence::LeaveAt(base::BootTime lost, absl::Duration timeout) const {
  if (!waiting() || patient_) return base::BootTime::InfiniteFuture();
  const absl::Duration t = Bounded(timeout);
  // Without a lease, the session counts, which the ensemble keeps for a timeout after its last
  // touch.
  const base::BootTime end = lost > since_ ? lost : touched_ + t;
  return since_ + std::clamp((end - since_) / 4, t / kQuickFraction, t / 4);
}

}  // namespace zkrecipes::session::machine

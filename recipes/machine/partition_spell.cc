// SPDX-License-Identifier: Apache-2.0

#include "recipes/machine/partition_spell.h"

#include <algorithm>
#include <utility>

namespace zkrecipes::recipes::machine {
namespace {

// The longest first wait of a member that joins again.
constexpr absl::Duration kMostHold = absl::Seconds(5);

}  // namespace

PartitionSpell::Verdict PartitionSpell::OnPlan(const PartitionPlan& plan,
                                               std::optional<int64_t> token,
                                               absl::Duration missed_after, base::BootTime now) {
  Verdict verdict;
  // Also when it is missed first: it was seen until this plan.
  if (joined_ || plan.joined) seen_ = now;
  joined_ = plan.joined;
  const bool again = was_seen();
  if (joined_ && std::exchange(spell_, plan.spell) != plan.spell) {
    verdict.hold = again ? std::min(plan.first_wait, kMostHold) : plan.first_wait;
    holds_until_ = now + *verdict.hold;
  }
  const bool missed = !joined_ && now - seen_ > missed_after;
  verdict.counts = leaves_ || missed || (joined_ && now >= holds_until_);
  // What is seen may still be its own node of an earlier spell.
  const bool alone = joined_ && plan.members == 1 && IsSeen(token) && !leaves_;
  verdict.others = plan.members > 0 && !alone;
  return verdict;
}

}  // namespace zkrecipes::recipes::machine

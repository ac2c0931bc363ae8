// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_MACHINE_PARTITION_SPELL_H_
#define ZKRECIPES_RECIPES_MACHINE_PARTITION_SPELL_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "recipes/machine/partition_plan.h"

namespace zkrecipes::recipes::machine {

// Which plans a member acts on; a copyable value. In another spell of membership the view begins
// anew: its first ones may be of a group that comes together. Until that has had its time, and
// while this member is not seen for a moment, the last plan counts.
class PartitionSpell {
 public:
  explicit PartitionSpell(base::BootTime now) : seen_(now) {}

  struct Verdict {
    bool counts = false;                 // it replaces the last one
    bool others = false;                 // of that: another member may take what is given up
    std::optional<absl::Duration> hold;  // a new spell: plan again after that
    friend bool operator==(const Verdict&, const Verdict&) = default;
  };
  // `token`: of this member's own node, if it has one. A member that is not seen for longer than
  // `missed_after` is none.
  Verdict OnPlan(const PartitionPlan& plan, std::optional<int64_t> token,
                 absl::Duration missed_after, base::BootTime now);
  // From now on every plan counts, as the others must take over now.
  void Leave() { leaves_ = true; }

  // By the last plan this member is in the group.
  bool joined() const { return joined_; }
  // It was, once.
  bool was_seen() const { return spell_ != 0; }
  // Whether the node that counts for its id is this one, and not a namesake's.
  bool IsSeen(std::optional<int64_t> token) const { return token.has_value() && *token == spell_; }

 private:
  bool leaves_ = false;
  bool joined_ = false;
  int64_t spell_ = 0;           // the token of its node, as it was seen last
  base::BootTime seen_;         // when it was
  base::BootTime holds_until_;  // for others that join
};

}  // namespace zkrecipes::recipes::machine

#endif  // ZKRECIPES_RECIPES_MACHINE_PARTITION_SPELL_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_PARTITIONS_LOCKS_H_
#define ZKRECIPES_RECIPES_PARTITIONS_LOCKS_H_

#include <cstdint>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "lib/base/boot_time.h"
#include "lib/queue/acquire/path_queue.h"
#include "lib/queue/acquire/work_loop.h"
#include "lib/queue/call/call.h"
#include "lib/queue/listing/children_watch.h"
#include "lib/zk/seam/types.h"
#include "recipes/machine/partition_member.h"
#include "recipes/partitions/core.h"
#include "recipes/partitions/state.h"

namespace zkrecipes::internal {

// The locks of a member's partitions: drives one machine::PartitionMember. Lives in the tasks of
// its runner.
class PartitionLocks {
 public:
  explicit PartitionLocks(PartitionRunner& runner);

  void OnPlan(const std::vector<bool>& mine, bool others);
  void OnEnded(const std::shared_ptr<PartitionState>& state);     // its lease
  void OnReturned(const std::shared_ptr<PartitionState>& state);  // its work
  void Leave();
  void Stop();

  bool over() const { return member_.over(); }
  // Of the last release that was not confirmed, unless the session has ended since, for sure.
  absl::Status unconfirmed() const;
  void Count(PartitionsReport& report) const;

 private:
  using Member = recipes::machine::PartitionMember;
  struct Slot {
    uint64_t turn = 0;  // of the latest acquire: what comes of an earlier one is late
    std::stop_source withdraw{std::nostopstate};
    std::weak_ptr<queue::call::Pending> acquire;
    std::shared_ptr<PartitionState> state;  // from the grant until its lock is gone
    std::shared_ptr<const PathQueue> queue;
    std::shared_ptr<queue::listing::ChildrenWatch> demand;
    uint64_t demands = 0;  // watches so far: what comes of an earlier one is late
    queue::acquire::TurnPauses pauses;
    base::BootTime rested;
  };

  bool IsLate(size_t which, uint64_t turn) const { return slots_[which].turn != turn; }
  void CarryOut(const Member::Actions& actions);
  void Act(const Member::Action& action);
  void Acquire(size_t which);
  void LookAtAcquire(size_t which);
  void OnAnswer(size_t which, absl::StatusOr<Lease> lease);
  void WatchDemand(size_t which);
  void OnQueue(size_t which, const absl::StatusOr<zk::Names>& queue);
  void AskFor(std::vector<std::pair<std::shared_ptr<PartitionState>, PartitionEnd>> asked);
  void Release(size_t which);
  void OnReleased(size_t which, const absl::Status& status);
  void Rest(size_t which);

  PartitionRunner& runner_;
  Member member_;
  std::vector<Slot> slots_;
  uint64_t turns_ = 0;
  std::vector<std::pair<std::shared_ptr<PartitionState>, PartitionEnd>> asked_;  // in CarryOut
  absl::Status unconfirmed_;
  base::BootTime released_;  // when that was
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_RECIPES_PARTITIONS_LOCKS_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_PARTITIONS_PLACE_H_
#define ZKRECIPES_RECIPES_PARTITIONS_PLACE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"

#include "lib/queue/acquire/work_loop.h"
#include "lib/queue/listing/children_watch.h"
#include "lib/zk/seam/types.h"
#include "recipes/machine/partition_homes.h"
#include "recipes/machine/partition_spell.h"
#include "recipes/partitions/core.h"

namespace zkrecipes::internal {

// Where a member stands among the others: its membership, what it sees of the group and of the
// homes, and the plans that it makes of that. Lives in the tasks of its runner.
class PartitionPlace {
 public:
  explicit PartitionPlace(PartitionRunner& runner);

  void Begin();
  // It begins nothing new any more.
  void Leave();
  bool leaves() const { return leaves_; }
  // What is left of it: the membership, which leaves by being dropped, and a join under way.
  std::optional<Membership> TakeMembership();
  bool over() const { return leaves_ && !joining_ && !membership_.has_value(); }
  void End();

  void Count(PartitionsReport& report) const;

 private:
  void WatchHomes();
  void Join();
  void OnJoined(absl::StatusOr<Membership> membership);
  void OnView(const absl::StatusOr<GroupView>& view);
  void OnHomes(absl::StatusOr<zk::Names> homes);
  void Replan();  // once the homes are known
  void Plan();
  void OnPlan(const recipes::machine::PartitionPlan& plan);
  void Check();
  bool LacksHome() const;
  std::optional<int64_t> token() const;
  void MakeHome();
  void ForgetHomes();
  void DeleteHome(const std::string& name);
  std::function<void(const zk::Reply&)> NoteRefusal();

  PartitionRunner& runner_;
  const Group group_;
  recipes::machine::PartitionSpell spell_;
  recipes::machine::PartitionHomes homes_;
  Subscription watch_;
  std::shared_ptr<queue::listing::ChildrenWatch> homes_watch_;
  std::optional<PartitionsCore::Present> present_;  // the latest that was seen while connected
  std::stop_source stop_joining_;
  queue::acquire::TurnPauses join_pauses_;
  std::optional<Membership> membership_;
  bool leaves_ = false;
  bool joining_ = false;
  bool planning_ = false;      // on the executor
  bool outdated_ = false;      // ... and what it began with has changed
  bool checks_ = false;        // a timer for what has not settled runs
  uint64_t listings_ = 0;      // of homes, so far
  bool homes_listed_ = false;  // by the last answer
  bool home_refused_ = false;  // since that
  bool connected_ = true;      // until it is known
  int members_ = 0;
  int other_lists_ = 0;
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_RECIPES_PARTITIONS_PLACE_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_MACHINE_PARTITION_MEMBER_H_
#define ZKRECIPES_RECIPES_MACHINE_PARTITION_MEMBER_H_

#include <cstddef>
#include <deque>
#include <set>
#include <vector>

#include "recipes/machine/partition_slot.h"

namespace zkrecipes::recipes::machine {

// All partitions of one member: events in, actions out; a copyable value. See docs/adr/0064. Each
// partition, named by its index, is a PartitionSlot; this adds which of them are wanted, how many
// acquires are under way at once, and how it all ends.
//
//   kRunning --Leave--> kDraining --Stop, or nobody else is there--> kStopped
//       `------------------- Stop -------------------------------------^
class PartitionMember {
 public:
  struct Action {
    PartitionSlot::Action what;
    size_t which = 0;
    friend bool operator==(const Action&, const Action&) = default;
  };
  using Actions = std::vector<Action>;

  PartitionMember(size_t partitions, size_t at_once)
      : slots_(partitions), at_once_(at_once), mine_(partitions) {}

  // By the latest view: which partitions are this member's, and whether there is any other member
  // that would take what this one gives up.
  Actions OnPlan(const std::vector<bool>& mine, bool others);
  // The acquire waits for another owner, or out the lock delay after one, so it does not count as
  // under way any more.
  Actions OnWaits(size_t which);
  Actions OnGranted(size_t which);
  Actions OnRefused(size_t which);
  Actions OnDemanded(size_t which) { return On(which, &PartitionSlot::OnDemanded); }
  Actions OnEnded(size_t which) { return On(which, &PartitionSlot::OnEnded); }
  Actions OnReturned(size_t which) { return On(which, &PartitionSlot::OnReturned); }
  Actions OnLeft(size_t which) { return On(which, &PartitionSlot::OnLeft); }
  Actions OnRested(size_t which) { return On(which, &PartitionSlot::OnRested); }
  // This member leaves: it gives up what others wait for.
  Actions Leave();
  // All work is to end.
  Actions Stop();

  // It leaves, and nothing of it is under way.
  bool over() const { return state_ >= State::kDraining && busy_ == 0; }
  size_t owned() const { return owned_; }
  size_t assigned() const { return assigned_; }
  size_t waited_for() const { return waited_for_; }  // assigned, and not owned
  size_t lost() const { return lost_; }              // ... whose work has not returned yet
  const PartitionSlot& slot(size_t which) const { return slots_[which]; }

 private:
  enum class State { kRunning, kDraining, kStopped };

  using Event = PartitionSlot::Actions (PartitionSlot::*)();
  Actions On(size_t which, Event event);
  // To a slot; counts what it does.
  template <typename Change>
  void Do(size_t which, Change change, Actions& all);
  void AddAcquires(Actions& all);
  void SetWanted(Actions& all);
  void SetMine(const std::vector<bool>& mine);
  void Count(size_t which, bool adds);

  std::vector<PartitionSlot> slots_;
  size_t at_once_;
  State state_ = State::kRunning;
  std::vector<bool> mine_;      // of the last plan
  bool others_ = true;          // ... until it is known
  std::set<size_t> under_way_;  // acquires that count as such
  std::deque<size_t> in_line_;  // acquires that are to begin once fewer are under way
  size_t busy_ = 0;             // slots that are not idle
  size_t owned_ = 0;
  size_t assigned_ = 0;
  size_t waited_for_ = 0;
  size_t lost_ = 0;
};

}  // namespace zkrecipes::recipes::machine

#endif  // ZKRECIPES_RECIPES_MACHINE_PARTITION_MEMBER_H_

// SPDX-License-Identifier: Apache-2.0

#include "recipes/machine/partition_member.h"

#include <functional>

namespace zkrecipes::recipes::machine {

PartitionMember::Actions PartitionMember::OnPlan(const std::vector<bool>& mine, bool others) {
  others_ = others;
  if (state_ == State::kDraining && !others) return Stop();
  Actions all;
  if (state_ >= State::kDraining) return all;
  SetMine(mine);
  SetWanted(all);
  return all;
}

void PartitionMember::SetWanted(Actions& all) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (mine_[i] == slots_[i].wanted()) continue;
    Do(
        i, [&](PartitionSlot& slot) { return slot.SetWanted(mine_[i]); }, all);
  }
  AddAcquires(all);
}

PartitionMember::Actions PartitionMember::OnWaits(size_t which) {
  Actions all;
  under_way_.erase(which);
  AddAcquires(all);
  return all;
}

PartitionMember::Actions PartitionMember::OnGranted(size_t which) {
  under_way_.erase(which);
  return On(which, &PartitionSlot::OnGranted);
}

PartitionMember::Actions PartitionMember::OnRefused(size_t which) {
  under_way_.erase(which);
  return On(which, &PartitionSlot::OnRefused);
}

// A spare partition is watched, and another member that waits for it gets it. Without any other it
// would only work on in vain.
PartitionMember::Actions PartitionMember::Leave() {
  Actions all;
  if (state_ >= State::kDraining) return all;
  if (!others_) return Stop();
  state_ = State::kDraining;
  SetMine(std::vector<bool>(slots_.size()));
  SetWanted(all);
  return all;
}

PartitionMember::Actions PartitionMember::Stop() {
  Actions all;
  if (state_ == State::kStopped) return all;
  state_ = State::kStopped;
  SetMine(std::vector<bool>(slots_.size()));
  for (size_t i = 0; i < slots_.size(); ++i) {
    Do(i, &PartitionSlot::Stop, all);
  }
  AddAcquires(all);
  return all;
}

PartitionMember::Actions PartitionMember::On(size_t which, Event event) {
  Actions all;
  Do(which, event, all);
  AddAcquires(all);
  return all;
}

template <typename Change>
void PartitionMember::Do(size_t which, Change change, Actions& all) {
  Count(which, false);
  const PartitionSlot::Actions actions = std::invoke(change, slots_[which]);
  Count(which, true);
  for (const PartitionSlot::Action action : actions) {
    if (action == PartitionSlot::Action::kAcquire) {
      in_line_.push_back(which);
    } else if (action == PartitionSlot::Action::kWithdraw && std::erase(in_line_, which) > 0) {
      // It has not begun: this is its answer.
      Do(which, &PartitionSlot::OnRefused, all);
    } else {
      all.push_back({action, which});
    }
  }
}

void PartitionMember::AddAcquires(Actions& all) {
  while (under_way_.size() < at_once_ && !in_line_.empty()) {
    all.push_back({PartitionSlot::Action::kAcquire, in_line_.front()});
    under_way_.insert(in_line_.front());
    in_line_.pop_front();
  }
}

void PartitionMember::SetMine(const std::vector<bool>& mine) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (mine_[i] == mine[i]) continue;
    Count(i, false);
    mine_[i] = mine[i];
    Count(i, true);
  }
}

void PartitionMember::Count(size_t which, bool adds) {
  const PartitionSlot& slot = slots_[which];
  const bool owns = slot.works() && slot.state() != PartitionSlot::State::kLost;
  const auto count = [adds](size_t& number, bool counts) {
    if (counts) adds ? ++number : --number;
  };
  count(busy_, slot.state() != PartitionSlot::State::kIdle);
  count(owned_, owns);
  count(assigned_, mine_[which]);
  count(waited_for_, mine_[which] && !owns);
  count(lost_, slot.state() == PartitionSlot::State::kLost);
}

}  // namespace zkrecipes::recipes::machine

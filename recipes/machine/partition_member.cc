// SPDX-License-Identifier: Apache-2.0

#include "recipes/machine/partition_member.h"

#include <algorithm>

namespace zkrecipes::recipes::machine {

using SlotState = PartitionSlot::State;

namespace {

bool Owns(const PartitionSlot& slot) { return slot.works() && slot.state() != SlotState::kLost; }

}  // namespace

PartitionMember::Actions PartitionMember::OnPlan(const std::vector<bool>& mine, bool others) {
  mine_ = mine;
  others_ = others;
  if (state_ == State::kDraining && !others) return Stop();
  Actions all;
  if (state_ == State::kRunning) SetWanted(all);
  return all;
}

PartitionMember::Actions PartitionMember::Begin() {
  Actions all;
  if (state_ != State::kWaiting) return all;
  state_ = State::kRunning;
  SetWanted(all);
  return all;
}

void PartitionMember::SetWanted(Actions& all) {
  if (mine_.empty()) return;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (mine_[i] != slots_[i].wanted()) Add(i, slots_[i].SetWanted(mine_[i]), all);
  }
  AddAcquires(all);
}

PartitionMember::Actions PartitionMember::OnWaits(size_t which) {
  under_way_.erase(which);
  return Do(which, {});
}
PartitionMember::Actions PartitionMember::OnGranted(size_t which) {
  under_way_.erase(which);
  return Do(which, slots_[which].OnGranted());
}
PartitionMember::Actions PartitionMember::OnRefused(size_t which) {
  under_way_.erase(which);
  return Do(which, slots_[which].OnRefused());
}

// A spare partition is watched, and another member that waits for it gets it. Without any other it
// would only work on in vain.
PartitionMember::Actions PartitionMember::Leave() {
  if (state_ >= State::kDraining) return {};
  if (!others_ || state_ == State::kWaiting) return Stop();
  state_ = State::kDraining;
  mine_.assign(slots_.size(), false);
  Actions all;
  SetWanted(all);
  return all;
}

PartitionMember::Actions PartitionMember::Stop() {
  Actions all;
  if (state_ == State::kStopped) return all;
  state_ = State::kStopped;
  mine_.assign(slots_.size(), false);
  for (size_t i = 0; i < slots_.size(); ++i) Add(i, slots_[i].Stop(), all);
  AddAcquires(all);
  return all;
}

PartitionMember::Actions PartitionMember::Do(size_t which, const PartitionSlot::Actions& actions) {
  Actions all;
  Add(which, actions, all);
  AddAcquires(all);
  return all;
}

void PartitionMember::Add(size_t which, const PartitionSlot::Actions& actions, Actions& all) {
  for (const PartitionSlot::Action action : actions) {
    if (action == PartitionSlot::Action::kAcquire) {
      in_line_.push_back(which);
    } else if (action == PartitionSlot::Action::kWithdraw &&
               std::erase(in_line_, which) > 0) {  // it has not begun: this is its answer
      Add(which, slots_[which].OnRefused(), all);
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

bool PartitionMember::over() const {
  return state_ >= State::kDraining && std::ranges::all_of(slots_, [](const PartitionSlot& slot) {
           return slot.state() == SlotState::kIdle;
         });
}

size_t PartitionMember::owned() const {
  return static_cast<size_t>(std::ranges::count_if(slots_, Owns));
}
size_t PartitionMember::assigned() const {
  return static_cast<size_t>(std::ranges::count(mine_, true));
}
size_t PartitionMember::waited_for() const {
  size_t count = 0;
  for (size_t i = 0; i < mine_.size(); ++i) count += mine_[i] && !Owns(slots_[i]) ? 1 : 0;
  return count;
}

}  // namespace zkrecipes::recipes::machine

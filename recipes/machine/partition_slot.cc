// SPDX-License-Identifier: Apache-2.0

#include "recipes/machine/partition_slot.h"

#include <utility>

namespace zkrecipes::recipes::machine {

using Actions = PartitionSlot::Actions;

Actions PartitionSlot::SetWanted(bool wanted) {
  if (stopped_) return {};
  wanted_ = wanted;
  switch (state_) {
    case State::kIdle:
      return GoRound();
    case State::kQueued:
      if (wanted) return {};
      state_ = State::kWithdrawn;
      return {Action::kWithdraw};
    case State::kOwned:
      if (wanted) return {};
      state_ = State::kSpare;
      return {Action::kWatch};
    case State::kSpare:
      if (!wanted) return {};
      state_ = State::kOwned;
      return {Action::kUnwatch};
    // What is under way comes first; then it is looked at.
    case State::kWithdrawn:
    case State::kAsked:
    case State::kLost:
    case State::kLeaving:
      return {};
    case State::kResting:
      if (!wanted) state_ = State::kIdle;
      return {};
  }
  return {};
}

// It may come although the acquire was withdrawn.
Actions PartitionSlot::OnGranted() {
  const bool asked_for = state_ == State::kQueued || state_ == State::kWithdrawn;
  if (!asked_for) return {};
  state_ = wanted_ ? State::kOwned : State::kLeaving;
  return {wanted_ ? Action::kBegin : Action::kRelease};
}

Actions PartitionSlot::OnRefused() {
  if (state_ == State::kWithdrawn) return GoRound();
  if (state_ != State::kQueued) return {};
  state_ = State::kResting;
  return {Action::kRest};
}

Actions PartitionSlot::OnDemanded() {
  if (state_ != State::kSpare) return {};
  state_ = State::kAsked;
  return {Action::kUnwatch, Action::kAskBack};
}

Actions PartitionSlot::OnEnded() {
  switch (state_) {
    case State::kSpare:
      state_ = State::kLost;
      return {Action::kUnwatch, Action::kTellLost};
    case State::kOwned:
    case State::kAsked:
      state_ = State::kLost;
      return {Action::kTellLost};
    // It is given back, or was not begun.
    case State::kIdle:
    case State::kQueued:
    case State::kWithdrawn:
    case State::kLost:
    case State::kLeaving:
    case State::kResting:
      return {};
  }
  return {};
}

// Only from here on may the work of this partition begin again.
Actions PartitionSlot::OnReturned() {
  if (!works()) return {};
  if (state_ == State::kLost) {
    if (!wanted_) return GoRound();
    state_ = State::kResting;
    return {Action::kRest};
  }
  unasked_ = state_ != State::kAsked;
  const bool watched = state_ == State::kSpare;
  state_ = State::kLeaving;
  return watched ? Actions{Action::kUnwatch, Action::kRelease} : Actions{Action::kRelease};
}

Actions PartitionSlot::OnLeft() {
  if (state_ != State::kLeaving) return {};
  if (!std::exchange(unasked_, false) || !wanted_) return GoRound();
  state_ = State::kResting;
  return {Action::kRest};
}

Actions PartitionSlot::OnRested() { return state_ == State::kResting ? GoRound() : Actions(); }

Actions PartitionSlot::Stop() {
  const bool watched = state_ == State::kSpare;
  const bool asks = state_ == State::kOwned || watched;
  Actions actions = asks ? Actions() : SetWanted(false);
  wanted_ = false;
  stopped_ = true;
  if (state_ == State::kResting) state_ = State::kIdle;
  if (!asks) return actions;
  state_ = State::kAsked;
  if (watched) actions.push_back(Action::kUnwatch);
  actions.push_back(Action::kAskStop);
  return actions;
}

Actions PartitionSlot::GoRound() {
  state_ = wanted_ ? State::kQueued : State::kIdle;
  return wanted_ ? Actions{Action::kAcquire} : Actions();
}

}  // namespace zkrecipes::recipes::machine

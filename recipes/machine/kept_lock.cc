// SPDX-License-Identifier: Apache-2.0

#include "recipes/machine/kept_lock.h"

#include <algorithm>

namespace zkrecipes::recipes::machine {

using Actions = KeptLock::Actions;
using What = KeptLock::Action::What;

// ---- local callers ------------------------------------------------------------------------------

bool KeptLock::TakeIdle() {
  if (state_ != State::kIdle) return false;
  state_ = State::kHeld;
  ++turn_;
  if (taken_idle_ <= kRepays) ++taken_idle_;
  return true;
}

Actions KeptLock::Acquire(Waiter waiter, bool try_only) {
  Actions actions;
  waiting_.push_back(waiter);
  if (state_ == State::kHeld) Look(actions);
  if (state_ != State::kNone) return actions;
  state_ = State::kJoining;
  if (try_only) trying_ = waiter;
  actions.push_back({try_only ? What::kTry : What::kJoin});
  return actions;
}

bool KeptLock::GiveUp(Waiter waiter) {
  if (std::erase(waiting_, waiter) == 0 || state_ != State::kJoining || withdrawn_) return false;
  withdrawn_ = waiting_.empty() || trying_ == waiter;
  return withdrawn_;
}

// A try was nobody's but its caller's.
bool KeptLock::OnWithdraw() {
  if (!waiting_.empty() && !trying_) withdrawn_ = false;
  return withdrawn_;
}

Actions KeptLock::OnTurnOver(base::BootTime now) {
  Actions actions;
  if (waiting_.empty()) {
    if (others_ == Others::kWait || alone_ < needs_) return EndTenure();
    state_ = State::kIdle;
    stayed_ = true;
    Look(actions);
    return actions;
  }
  if (!MayGoOn(now)) return EndTenure();
  PassOn(actions);
  return actions;
}

bool KeptLock::MayGoOn(base::BootTime now) {
  if (others_ != Others::kWait) return true;
  if (allowed_.turns == 0 || now >= allowed_.until) return false;
  --allowed_.turns;
  return true;
}

void KeptLock::PassOn(Actions& actions) {
  state_ = State::kHeld;
  ++turn_;
  actions.push_back({What::kGrant, waiting_.front()});
  waiting_.pop_front();
  if (!waiting_.empty()) Look(actions);
}

// ---- the node -----------------------------------------------------------------------------------

Actions KeptLock::OnGranted(bool alone) {
  alone_ = alone ? std::min(alone_ + 1, kNeedsAtMost) : 0;
  turn_ = quiet_since_ = 0;
  others_ = Others::kNotAsked;
  allowed_ = {};
  trying_.reset();
  stayed_ = blind_ = withdrawn_ = false;
  taken_idle_ = 0;
  if (waiting_.empty()) return EndTenure();  // they have given up
  Actions actions;
  PassOn(actions);
  return actions;
}

Actions KeptLock::OnRefused() {
  Actions actions;
  state_ = State::kNone;
  if (trying_.has_value() || withdrawn_) {
    // It was not an answer to those that have come since.
    if (trying_ && std::erase(waiting_, *trying_) > 0) actions.push_back({What::kRefuse, *trying_});
  } else {
    for (const Waiter waiter : waiting_) actions.push_back({What::kRefuse, waiter});
    waiting_.clear();
  }
  Join(actions);
  return actions;
}

void KeptLock::Join(Actions& actions) {
  trying_.reset();
  withdrawn_ = false;
  if (waiting_.empty()) return;
  state_ = State::kJoining;
  actions.push_back({What::kJoin});
}

void KeptLock::Look(Actions& actions) {
  if (others_ != Others::kNotAsked) return;
  others_ = Others::kNotKnown;
  actions.push_back({What::kLook});
}

Actions KeptLock::OnChanged(base::BootTime now) {
  return others_ == Others::kNone ? Ask(now) : Actions();
}

Actions KeptLock::OnOthers(bool wait, base::BootTime now) {
  if (!has_node() || others_ == Others::kWait) return {};
  if (wait) return Ask(now);
  others_ = Others::kNone;
  return {};
}

Actions KeptLock::OnBlind(base::BootTime now) {
  if (!has_node() || others_ == Others::kWait) return {};
  blind_ = true;
  return Ask(now);
}

Actions KeptLock::Ask(base::BootTime now) {
  others_ = Others::kWait;
  allowed_ = {limits_.turns, now + limits_.time};
  return state_ == State::kIdle ? EndTenure() : Actions();
}

Actions KeptLock::OnEnded() { return has_node() ? EndTenure() : Actions(); }

Actions KeptLock::OnQuietCheck() {
  const bool idle = state_ == State::kIdle;
  const bool quiet = idle && quiet_since_ == turn_;
  quiet_since_ = idle ? turn_ : 0;
  return quiet ? EndTenure() : Actions();
}

Actions KeptLock::EndTenure() {
  if (others_ == Others::kWait) {
    alone_ = 0;
    const bool paid = taken_idle_ > kRepays;
    if (stayed_ && !blind_) needs_ = paid ? kNeedsAtFirst : std::min(2 * needs_, kNeedsAtMost);
  }
  state_ = State::kNone;
  Actions actions = {{What::kLeave}};
  Join(actions);
  return actions;
}

}  // namespace zkrecipes::recipes::machine

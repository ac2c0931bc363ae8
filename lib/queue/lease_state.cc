// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/lease_state.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/session/client_options.h"

namespace zkrecipes::internal {
namespace {

const char* Describe(queue::LossReason why) {
  switch (why) {
    case queue::LossReason::kSessionLost:
      return "its session expired";
    case queue::LossReason::kNodeDeleted:
      return "somebody else deleted its node";
    case queue::LossReason::kLapsed:
      return "nothing was heard from the ensemble for the session timeout";
  }
  return "";
}

}  // namespace

LeaseState::LeaseState(std::shared_ptr<ClientCore> core, std::shared_ptr<session::SessionLife> life,
                       Sequencer sequencer, Leave leave)
    : core_(std::move(core)),
      life_(std::move(life)),
      sequencer_(std::move(sequencer)),
      leave_(std::move(leave)) {}

Lease::State LeaseState::state() {
  base::MutexLock lock(mutex_);
  return StateLocked();
}

Lease::State LeaseState::StateLocked() {
  if (phase_ == Phase::kLost) return Lease::State::kLost;
  if (phase_ == Phase::kReleased) return Lease::State::kReleased;
  switch (life_->At(core_->Now())) {
    case session::SessionLife::State::kBelieved:
      return Lease::State::kHeld;
    case session::SessionLife::State::kSuspect:
      return Lease::State::kSuspect;
    case session::SessionLife::State::kOver:
      break;
  }
  phase_ = Phase::kLost;  // the reactor, which will say so too, may not have woken up yet
  return Lease::State::kLost;
}

absl::Duration LeaseState::remaining() {
  base::MutexLock lock(mutex_);
  const Lease::State state = StateLocked();
  if (state != Lease::State::kHeld && state != Lease::State::kSuspect) return absl::ZeroDuration();
  return std::max(absl::ZeroDuration(), life_->deadline() - core_->Now());
}

absl::Status LeaseState::Release(const WaitOptions& wait) {
  const absl::Status wrong_wait = CheckWaitOptions(wait);
  const absl::Status may_block = core_->CheckMayBlock();
  if (!core_->InHomeProcess()) return may_block;
  const base::BootTime deadline = core_->Now() + wait.timeout;
  auto done = std::make_shared<base::OneShot<absl::Status>>();
  if (!EnterReleased()) {
    base::MutexLock lock(mutex_);
    return absl::AbortedError(
        absl::StrCat("release ", sequencer_.node, ": the lease had been lost: ",
                     phase_ == Phase::kReleased ? "the client was closed" : Describe(why_)));
  }
  RequestStop();
  leave_(done);
  if (!wrong_wait.ok()) return wrong_wait;
  if (!may_block.ok()) return may_block;
  if (auto status = core_->Await(*done, deadline, wait.cancel)) return *std::move(status);
  const std::string message = absl::StrCat(
      "release ", sequencer_.node,
      ": not confirmed; the deletion goes on in the background until the session has expired");
  if (wait.cancel.stop_requested()) return absl::CancelledError(message);
  return absl::DeadlineExceededError(message);
}

void LeaseState::Abandon() {
  if (!EnterReleased()) return;
  RequestStop();
  leave_(nullptr);
}

bool LeaseState::EnterReleased() {
  base::MutexLock lock(mutex_);
  const Lease::State state = StateLocked();
  if (state == Lease::State::kLost || state == Lease::State::kReleased) return false;
  phase_ = Phase::kReleased;
  return true;
}

void LeaseState::OnLost(queue::LossReason why) {
  {
    base::MutexLock lock(mutex_);
    if (phase_ == Phase::kReleased) return;
    phase_ = Phase::kLost;
    why_ = why;
  }
  RequestStop();
}

void LeaseState::OnClosed() {
  (void)EnterReleased();
  RequestStop();  // also of a lease that only the clock knows to be lost: nobody else will say so
}

void LeaseState::RequestStop() {
  {
    base::MutexLock lock(mutex_);
    if (std::exchange(stop_asked_, true)) return;
  }
  // A task of its own: whoever registered with the token may block.
  core_->executor()->Execute([lost = lost_]() mutable { lost.request_stop(); });
}

}  // namespace zkrecipes::internal

// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/acquire/async_call.h"

namespace zkrecipes::queue::acquire {

std::shared_ptr<AsyncCall> AsyncCall::Begin(std::shared_ptr<internal::ClientCore> core,
                                            const WaitOptions& wait, std::string late, Done done) {
  const base::BootTime deadline = core->Now() + wait.timeout;
  std::shared_ptr<AsyncCall> call(new AsyncCall(std::move(core), std::move(late), std::move(done)));
  call->timed_ = wait.timeout < absl::InfiniteDuration();
  if (call->timed_) call->StartTimer(deadline);
  // Last, because a stop that was requested already runs GiveUp inside this line.
  call->on_cancel_.emplace(wait.cancel, GiveUp{call});
  return call;
}

AsyncCall::AsyncCall(std::shared_ptr<internal::ClientCore> core, std::string late, Done done)
    : core_(std::move(core)), late_(std::move(late)), done_(std::move(done)) {}

// Without a session there is no reactor any more, and whoever is asked answers at once.
void AsyncCall::StartTimer(base::BootTime deadline) {
  core_->Post([weak = weak_from_this(), deadline](session::Session* session) {
    const auto self = weak.lock();
    if (self == nullptr || session == nullptr || self->settled()) return;
    self->timer_ = self->core_->reactor()->CallAt(deadline, [weak] {
      const auto late = weak.lock();
      if (late == nullptr) return;
      late->timer_ = 0;
      late->Settle(absl::DeadlineExceededError(late->late_));
    });
  });
}

void AsyncCall::GiveUp::operator()() const {
  const auto self = call.lock();
  if (self != nullptr) self->Settle(absl::CancelledError(self->late_));
}

// The first one wins, on whichever thread; only it may touch done_.
void AsyncCall::Settle(absl::Status answer) {
  if (settled_.exchange(true)) return;
  if (timed_) {
    core_->Post([self = shared_from_this()](session::Session* session) {
      if (session == nullptr || self->timer_ == 0) return;
      self->core_->reactor()->Cancel(std::exchange(self->timer_, 0));
    });
  }
  std::exchange(done_, nullptr)(std::move(answer));
}

}  // namespace zkrecipes::queue::acquire

// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/acquire/membership_state.h"

#include <utility>

#include "lib/queue/listing/node_data.h"

namespace zkrecipes::internal {

using queue::acquire::Answer;

namespace {

// That time does not mend. All others may pass, a quota, say, or a limit of this client: nobody
// waits for the answer who could join anew.
bool IsForGood(const absl::Status& refusal) {
  return absl::IsPermissionDenied(refusal) || absl::IsUnauthenticated(refusal) ||
         absl::IsInvalidArgument(refusal);
}

absl::Status Closed() { return absl::FailedPreconditionError("the client is closed"); }

}  // namespace

MembershipState::MembershipState(queue::acquire::Queue queue, queue::machine::Candidacy candidacy)
    : queue_(std::move(queue)),
      candidacy_(std::move(candidacy)),
      id_(queue::listing::ParseCandidate(candidacy_.data).id) {}

std::shared_ptr<MembershipState> MembershipState::Of(queue::acquire::Queue queue,
                                                     queue::machine::Candidacy candidacy,
                                                     Lease first) {
  auto state = std::make_shared<MembershipState>(std::move(queue), std::move(candidacy));
  state->Take(std::move(first));
  return state;
}

std::shared_ptr<LeaseState> MembershipState::spell() {
  base::MutexLock lock(mutex_);
  return spell_;
}

// A closed client ends it, also while it rests: then it has no timer any more that could find out.
std::optional<absl::Status> MembershipState::end() {
  std::shared_ptr<LeaseState> spell;
  {
    base::MutexLock lock(mutex_);
    if (left_) return absl::OkStatus();
    if (!refusal_.ok()) return refusal_;
    spell = spell_;
  }
  const std::optional<LeaseEnd> why = spell->end_reason();
  if (!why.has_value()) return std::nullopt;
  const bool closed =
      why == LeaseEnd::kClientClosed || queue_->core->feed().state() == ClientState::kClosed;
  return closed ? std::optional(Closed()) : std::nullopt;
}

std::shared_ptr<LeaseState> MembershipState::Leave() {
  std::shared_ptr<LeaseState> spell;
  {
    base::MutexLock lock(mutex_);
    left_ = true;
    spell = spell_;
  }
  leaves_.request_stop();
  return spell;
}

// Of a membership that was left meanwhile the lease is dropped: its node is deleted.
void MembershipState::Take(Lease lease) {
  std::shared_ptr<LeaseState> spell;
  {
    base::MutexLock lock(mutex_);
    if (left_) return;
    spell = spell_ = LeaseMaker::Take(std::move(lease));
  }
  spell->AddFollower(shared_from_this());
}

// As a task: what ends at the same time is announced first. Once the client is closed that is on
// any thread, where there is no timer: the thread that announces it may have stood still meanwhile.
void MembershipState::OnLeaseEnded() {
  queue_->core->Post([self = shared_from_this()](session::Session* session) {
    session == nullptr ? self->EndWith(Closed()) : self->OnSpellEnded();
  });
}

// At once, since the others may count it out by now; but not again and again, where somebody
// deletes each node.
void MembershipState::OnSpellEnded() {
  const std::shared_ptr<LeaseState> over = spell();
  if (over->end_reason() == LeaseEnd::kClientClosed) return EndWith(Closed());
  const absl::Duration lasted = queue_->core->Now() - over->granted();
  const bool at_once = pauses_.Succeeded(lasted);
  const absl::Duration pause = pauses_.After(lasted, queue_->core->reactor()->Random());
  at_once ? JoinAgain() : RestFor(pause);
}

void MembershipState::RestFor(absl::Duration pause) {
  zk::Reactor& reactor = *queue_->core->reactor();
  reactor.CallAt(reactor.Now() + pause, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->JoinAgain();
  });
}

void MembershipState::JoinAgain() {
  if (end().has_value()) return;
  (void)queue::call::Begin(queue::acquire::Enter(queue_, candidacy_),
                           {.cancel = leaves_.get_token()},
                           [weak = weak_from_this()](Answer answer) {
                             if (const auto self = weak.lock()) self->OnAnswer(std::move(answer));
                           });
}

void MembershipState::OnAnswer(Answer answer) {
  if (answer.ok()) return Take(*std::move(answer));
  // On the thread of Leave, if that has cancelled it.
  if (end().has_value()) return;
  if (IsForGood(answer.status())) return EndWith(answer.status());
  // However long it took, it was no success.
  RestFor(pauses_.After(absl::ZeroDuration(), queue_->core->reactor()->Random()));
}

void MembershipState::EndWith(absl::Status why) {
  base::MutexLock lock(mutex_);
  if (!left_ && refusal_.ok()) refusal_ = std::move(why);
}

}  // namespace zkrecipes::internal

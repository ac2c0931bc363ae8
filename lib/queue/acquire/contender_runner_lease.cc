// SPDX-License-Identifier: Apache-2.0
//
// A contender that holds: its lease, and what the lease's user asks of it.

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/queue/acquire/contender_runner.h"

namespace zkrecipes::queue::acquire {
namespace {

namespace action = machine::action;
namespace event = machine::event;

}  // namespace

void ContenderRunner::Leave(Waiter waiter) {
  core_->Post([self = shared_from_this(), waiter = std::move(waiter)](session::Session*) mutable {
    if (waiter != nullptr) self->releases_.push_back(std::move(waiter));
    if (self->session_ == nullptr) return Answer(self->releases_, absl::OkStatus());
    self->On(event::Leave{});
  });
}

void ContenderRunner::Verify(Waiter waiter) {
  core_->Post([self = shared_from_this(), waiter = std::move(waiter)](session::Session*) mutable {
    self->verifications_.push_back(std::move(waiter));
    if (self->lease_ == nullptr) {
      return Answer(self->verifications_, self->LeaseIsOver());
    }
    self->AskVerdict();
  });
}

// Without a connection: once it is back. One question at a time; a caller that comes meanwhile
// waits for the next one, since only what was asked after it came can answer it.
void ContenderRunner::AskVerdict() {
  if (verifications_.empty() || !verifying_.empty()) return;
  if (lease_ == nullptr || !session_->connected()) return;
  verifying_.swap(verifications_);
  lease::VerifyNode(*session_, contender_.node(), lease_->node_czxid(),
                    [self = self_](lease::Verdict verdict) { self->OnVerdict(verdict); });
}

absl::Status ContenderRunner::VerifyStatus(absl::StatusCode code, const char* why) const {
  return absl::Status(code, absl::StrCat("verify ", acquisition_->path(), ": ", why));
}

absl::Status ContenderRunner::LeaseIsOver() const {
  return VerifyStatus(absl::StatusCode::kAborted, "the lease is over");
}

void ContenderRunner::OnVerdict(lease::Verdict verdict) {
  if (lease_ == nullptr) return;  // answered
  switch (verdict) {
    case lease::Verdict::kThere:
      Answer(verifying_, absl::OkStatus());
      break;
    case lease::Verdict::kGone:
      Answer(verifying_, VerifyStatus(absl::StatusCode::kAborted, "its node is gone"));
      return On(event::NodeGone{});
    case lease::Verdict::kUnknown:
      if (!session_->connected()) {  // asked again by OnConnected
        std::move(verifying_.begin(), verifying_.end(), std::back_inserter(verifications_));
        return verifying_.clear();
      }
      Answer(verifying_,
             VerifyStatus(absl::StatusCode::kUnavailable, "the ensemble did not answer"));
      break;
  }
  AskVerdict();
}

bool ContenderRunner::Proven() const {
  if (session_ == nullptr) return false;
  session::SessionValidity* const validity = session_->validity().get();
  const base::BootTime now = core_->Now();
  return validity != nullptr && now < validity->ProvenUntil(now);
}

absl::Duration ContenderRunner::DelayLifetime() const {
  if (lease_ == nullptr) return absl::InfiniteDuration();
  return Terms().delay_lifetime.value_or(absl::InfiniteDuration());
}

// A lease may end before its session's validity does, by its own terms or in lock-delay mode. The
// heartbeat announces only the validity's end, so this timer announces the lease's. It asks the
// lease, whose holder may have said meanwhile that it is alive.
void ContenderRunner::CheckEnd() {
  end_timer_ = 0;
  if (lease_ == nullptr) return;
  const std::optional<LeaseEnd> ended = lease_->end_reason();
  if (ended == LeaseEnd::kReleased) return;  // leaving
  if (ended.has_value()) {
    // The first timer to notice announces every lease that has ended.
    if (!lease_->announced()) session_->AnnounceEnded();
    return On(event::Lapsed{*ended});
  }
  const base::BootTime end = lease_->EndTime();
  if (end == base::BootTime::InfiniteFuture()) return;
  end_timer_ = core_->reactor()->CallAt(end, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->CheckEnd();
  });
}

void ContenderRunner::Act(machine::Grant grant) {
  CancelTimeout();
  retry_pauses_.Reset();
  blocker_watch_bytes_ = {};
  // Asked for before the contender's node was, on the same connection: so it is known, unless the
  // server did not say.
  const absl::StatusOr<int64_t>& epoch = session_->epoch();
  grant.epoch = epoch.value_or(0);
  lease_ = std::make_shared<internal::LeaseState>(core_, session_->validity(), std::move(grant),
                                                  weak_from_this(), Terms());
  if (DelayLifetime() != absl::InfiniteDuration()) session_->NeedChanged(this);
  held_ = true;
  if (telling_) session_->WantSuspicionChecks(true);
  CheckEnd();
  // If it was settled before, the lease is dropped here, which makes this contender leave.
  if (!epoch.ok()) acquisition_->Settle(WithoutEpoch(epoch.status()));
  const bool heard = acquisition_->Settle(internal::LeaseMaker::Make(lease_));
  if (telling_ && heard) telling_->Granted(*lease_, candidacy().acl);
}

internal::LeaseTerms ContenderRunner::Terms() const {
  const machine::Candidacy& candidacy = contender_.candidacy();
  const AcquireOptions& options = acquisition_->options();
  internal::LeaseTerms terms;
  terms.lapses = options.ends_at == LeaseOptions::EndsAt::kDeadline;
  // After a reader nothing waits, so a delay makes no promise to it.
  if (candidacy.delays() && candidacy.mode != machine::Mode::kShared) {
    terms.delay_lifetime = session_->margins().DelayLifetime(candidacy.lock_delay);
  }
  terms.alive_within = options.alive_within;
  terms.hold_at_most = options.hold_at_most;
  return terms;
}

void ContenderRunner::Act(const action::LeaseLost& lost) {
  (void)lease_->End(lost.why);
  if (telling_) telling_->Ended();
}

void ContenderRunner::OnValidityEnded() {
  if (lease_ != nullptr) lease_->AnnounceIfEnded();
}

}  // namespace zkrecipes::queue::acquire

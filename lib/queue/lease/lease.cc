// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/lease.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/process.h"
#include "lib/queue/lease/lease_state.h"

namespace zkrecipes {
namespace {

using Done = absl::AnyInvocable<void(absl::Status) &&>;

absl::Status MovedFrom(const char* operation) {
  return absl::FailedPreconditionError(absl::StrCat(operation, ": a moved-from lease"));
}

// Gives the lease up; in a forked child it only makes sure that nothing is ever sent for it.
void Drop(std::shared_ptr<internal::LeaseState> state) {
  if (state == nullptr) return;
  if (state->core().InHomeProcess()) {
    state->Abandon();
  } else {
    // The parent's thread that would do the rest does not exist here, and the node is the parent's.
    base::Leak(std::move(state));
  }
}

}  // namespace

Lease::Lease(std::shared_ptr<internal::LeaseState> state) : state_(std::move(state)) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) Drop(std::exchange(state_, std::move(other.state_)));
  return *this;
}

Lease::~Lease() { Drop(std::move(state_)); }

Lease::State Lease::state() const {
  if (state_ == nullptr) return State::kReleased;
  // A forked child never believes: its parent may have released the lease meanwhile.
  return state_->core().InHomeProcess() ? state_->state() : State::kLost;
}

bool Lease::believed() const {
  const State now = state();
  return now == State::kHeld || now == State::kSuspect;
}

FencingToken Lease::token() const {
  return state_ == nullptr ? FencingToken() : state_->sequencer().token;
}

FencingPass Lease::pass() const { return state_ == nullptr ? FencingPass() : state_->pass(); }

absl::Duration Lease::remaining() const {
  if (state_ == nullptr || !state_->core().InHomeProcess()) return absl::ZeroDuration();
  return state_->remaining();
}

std::stop_token Lease::ended() const {
  return state_ == nullptr ? std::stop_token() : state_->ended();
}

std::optional<LeaseEnd> Lease::end_reason() const {
  if (state_ == nullptr) return LeaseEnd::kReleased;
  return state_->core().InHomeProcess() ? state_->end_reason() : LeaseEnd::kClientClosed;
}

bool Lease::StillAlive() const {
  return state_ != nullptr && state_->core().InHomeProcess() && state_->StillAlive();
}

const std::string& Lease::node() const {
  static const std::string* const kNone = new std::string();
  return state_ == nullptr ? *kNone : state_->sequencer().node;
}

Sequencer Lease::sequencer() const { return state_ == nullptr ? Sequencer() : state_->sequencer(); }

absl::Status Lease::Verify(const WaitOptions& wait) const {
  return state_ == nullptr ? MovedFrom("verify") : state_->Verify(wait);
}

void Lease::VerifyAsync(WaitOptions wait, Done done) const {
  if (state_ == nullptr) return std::move(done)(MovedFrom("verify"));
  state_->VerifyAsync(wait, std::move(done));
}

StatusAwaitable Lease::CoVerify(Duration timeout, std::stop_token cancel) const {
  return {[state = state_](const WaitOptions& wait, Done done) {
            if (state == nullptr) return std::move(done)(MovedFrom("verify"));
            state->VerifyAsync(wait, std::move(done));
          },
          {timeout, std::move(cancel)}};
}

// The state stays, so that the release can be waited for again.
absl::Status Lease::Release(const WaitOptions& wait) && {
  return state_ == nullptr ? MovedFrom("release") : state_->Release(wait);
}

void Lease::ReleaseAsync(WaitOptions wait, Done done) && {
  if (state_ == nullptr) return std::move(done)(MovedFrom("release"));
  state_->ReleaseAsync(wait, std::move(done));
}

StatusAwaitable Lease::CoRelease(Duration timeout, std::stop_token cancel) && {
  return {[state = state_](const WaitOptions& wait, Done done) {
            if (state == nullptr) return std::move(done)(MovedFrom("release"));
            state->ReleaseAsync(wait, std::move(done));
          },
          {timeout, std::move(cancel)}};
}

std::ostream& operator<<(std::ostream& out, LeaseEnd end) { return out << internal::Describe(end); }

std::ostream& operator<<(std::ostream& out, Lease::State state) {
  switch (state) {
    case Lease::State::kUnproven:
      return out << "unproven";
    case Lease::State::kHeld:
      return out << "held";
    case Lease::State::kSuspect:
      return out << "suspect";
    case Lease::State::kLost:
      return out << "lost";
    case Lease::State::kReleased:
      return out << "released";
  }
  return out;
}

}  // namespace zkrecipes

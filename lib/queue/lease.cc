// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/lease.h"

#include <utility>

#include "lib/base/process.h"
#include "lib/queue/lease_state.h"

namespace zkrecipes {
namespace {

// Gives the lease up; in a forked child it only makes sure that nothing is ever sent for it.
void Drop(std::shared_ptr<internal::LeaseState> state) {
  if (state == nullptr) return;
  if (state->core().InHomeProcess()) {
    state->Abandon();
  } else {
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
  return state_->core().InHomeProcess() ? state_->state() : State::kLost;
}

bool Lease::believed() const {
  const State now = state();
  return now == State::kHeld || now == State::kSuspect;
}

FencingToken Lease::token() const {
  return state_ == nullptr ? FencingToken() : state_->sequencer().token;
}

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
  if (state_ == nullptr) return absl::FailedPreconditionError("verify: a moved-from lease");
  return state_->Verify(wait);
}

absl::Status Lease::Release(const WaitOptions& wait) && {
  if (state_ == nullptr) return absl::FailedPreconditionError("release: a moved-from lease");
  absl::Status status = state_->Release(wait);
  if (!state_->core().InHomeProcess()) {
    base::Leak(std::exchange(state_, nullptr));
  } else if (!state_->release_unconfirmed()) {
    state_ = nullptr;
  }
  return status;
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

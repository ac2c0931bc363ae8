// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/lease.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/process.h"
#include "lib/queue/call/call.h"
#include "lib/queue/lease/lease_state.h"

namespace zkrecipes {
namespace {

using internal::LeaseState;
using queue::call::Begun;
using queue::call::Start;
using StatusDone = queue::call::Done<absl::Status>;

using LeaseCall = queue::call::Call<absl::Status>;

// Waits for what the contender of a lease has been told to do. The message if it is given up:
// "`operation` NODE: `late`".
std::shared_ptr<LeaseCall> Waiting(const std::shared_ptr<LeaseState>& lease,
                                   const WaitOptions& wait, StatusDone& done, const char* operation,
                                   const char* late) {
  return queue::call::NewCall<absl::Status>(
      lease->core().shared_from_this(), wait, std::move(done),
      [lease, operation, late](bool cancelled) {
        return absl::Status(
            cancelled ? absl::StatusCode::kCancelled : absl::StatusCode::kDeadlineExceeded,
            absl::StrCat(operation, " ", lease->sequencer().node, ": ", late));
      });
}

Start<absl::Status> OfMovedFrom(const char* operation) {
  return {.refusal =
              absl::FailedPreconditionError(absl::StrCat(operation, ": a moved-from lease"))};
}

// The state is kept by the call: the Lease may be moved, or destroyed, before the answer comes.
Start<absl::Status> Verification(const std::shared_ptr<LeaseState>& lease) {
  if (lease == nullptr) return OfMovedFrom("verify");
  return {lease->core().shared_from_this(),
          [lease](const WaitOptions& wait, StatusDone& done) -> Begun {
            if (absl::Status over = lease->CheckAlive("verify"); !over.ok()) return over;
            const auto call =
                Waiting(lease, wait, done, "verify", "the ensemble did not answer in time");
            lease->Verify([call](absl::Status status) { call->Settle(std::move(status)); });
            call->HeedCancel(wait.cancel);
            return call;
          }};
}

// The lease is released even if the release cannot be waited for.
Start<absl::Status> Releasing(const std::shared_ptr<LeaseState>& lease) {
  if (lease == nullptr) return OfMovedFrom("release");
  return {lease->core().shared_from_this(),
          [lease](const WaitOptions& wait, StatusDone& done) -> Begun {
            // First: its time limit runs from before anybody can see that the lease has ended.
            const auto call = Waiting(lease, wait, done, "release",
                                      "not confirmed; the deletion goes on in the background "
                                      "until the session has expired");
            // From here on the lease is not believed, whatever becomes of the deletion.
            if (absl::Status lost = lease->BeginRelease(); !lost.ok()) {
              call->Settle(std::move(lost));
              return nullptr;
            }
            lease->Leave([call](absl::Status status) { call->Settle(std::move(status)); });
            call->HeedCancel(wait.cancel);
            return call;
          },
          [lease] {
            absl::Status lost = lease->BeginRelease();
            if (lost.ok()) lease->Leave(nullptr);
            return lost;
          }};
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

// A forked child asks nothing of the state: another thread may have held its mutex.
std::stop_token Lease::ended() const {
  if (state_ == nullptr) return std::stop_token();
  if (state_->core().InHomeProcess()) return state_->ended();
  std::stop_source over;
  over.request_stop();
  return over.get_token();
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
  return Blocking(Verification(state_), wait);
}
void Lease::VerifyAsync(WaitOptions wait, StatusDone done) const {
  Async(Verification(state_), wait, std::move(done));
}
StatusAwaitable Lease::CoVerify(Duration timeout, std::stop_token cancel) const {
  return Co(Verification(state_), timeout, std::move(cancel));
}

// The state stays, so that the release can be waited for again.
absl::Status Lease::Release(const WaitOptions& wait) && {
  return Blocking(Releasing(state_), wait);
}
void Lease::ReleaseAsync(WaitOptions wait, StatusDone done) && {
  Async(Releasing(state_), wait, std::move(done));
}
StatusAwaitable Lease::CoRelease(Duration timeout, std::stop_token cancel) && {
  return Co(Releasing(state_), timeout, std::move(cancel));
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

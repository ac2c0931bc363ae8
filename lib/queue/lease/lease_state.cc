// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/lease/lease_state.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/queue/listing/node_data.h"
#include "lib/queue/machine/node_name.h"
#include "lib/queue/own_node/own_node_turns.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::internal {
const char* Describe(LeaseEnd end) {
  switch (end) {
    case LeaseEnd::kReleased:
      return "it was released";
    case LeaseEnd::kDeadlinePassed:
      return "its session could not be proven to be alive in time";
    case LeaseEnd::kSessionExpired:
      return "its session expired";
    case LeaseEnd::kNodeDeleted:
      return "another client deleted its node";
    case LeaseEnd::kClientClosed:
      return "the client was closed";
    case LeaseEnd::kNotAlive:
      return "its holder did not say in time that it is alive";
    case LeaseEnd::kHeldTooLong:
      return "it was held for as long as it may be";
  }
  return "";
}

LeaseState::LeaseState(std::shared_ptr<ClientCore> core,
                       std::shared_ptr<session::SessionValidity> validity,
                       queue::machine::Grant grant, std::weak_ptr<LeaseHolder> holder,
                       const LeaseTerms& terms, std::shared_ptr<const session::Reach> reach)
    : core_(std::move(core)),
      validity_(std::move(validity)),
      grant_(std::move(grant)),
      sequencer_{queue::listing::GrantModeOf(grant_.mode), FencingToken(grant_.token),
                 core_->name_space().ToUser(std::move(grant_.node)), core_->name_space().root()},
      holder_(std::move(holder)),
      terms_(terms),
      reach_(std::move(reach)),
      basis_{validity_->period(), terms.lapses, terms.delay_lifetime},
      granted_(core_->Now()),
      alive_until_(granted_ + terms.alive_within) {}

queue::own_node::OwnNodeTurns& LeaseState::turns() {
  base::MutexLock lock(mutex_);
  if (turns_ == nullptr) {
    turns_ = std::make_shared<queue::own_node::OwnNodeTurns>(
        core_, queue::machine::OwnNode{core_->name_space().ToServer(sequencer_.node), grant_.czxid,
                                       grant_.session, 0, grant_.data});
    followers_.push_back(turns_);
  }
  return *turns_;
}

Lease::State LeaseState::state() {
  base::MutexLock lock(mutex_);
  return Look().state;
}

// An end that is a matter of time is settled here, since time alone does not keep it so: a write
// that is confirmed later could move the deadline of lock-delay mode. A lost lease stays lost.
LeaseState::Seen LeaseState::Look() {
  const base::BootTime now = core_->Now();
  if (!end_.has_value()) end_ = EndOfTerms(now);
  if (!end_.has_value()) {
    switch (validity_->At(now, basis_)) {
      case session::SessionValidity::State::kUnproven:
        return {now, Lease::State::kUnproven, std::nullopt};
      case session::SessionValidity::State::kBelieved:
        return {now, Lease::State::kHeld, std::nullopt};
      case session::SessionValidity::State::kSuspect:
        return {now, Lease::State::kSuspect, std::nullopt};
      case session::SessionValidity::State::kLapsed:
        end_ = LeaseEnd::kDeadlinePassed;
        break;
      case session::SessionValidity::State::kExpired:
        end_ = LeaseEnd::kSessionExpired;
        break;
    }
  }
  const bool released = end_ == LeaseEnd::kReleased;
  return {now, released ? Lease::State::kReleased : Lease::State::kLost, end_};
}

std::optional<LeaseEnd> LeaseState::EndOfTerms(base::BootTime now) const {
  if (now >= alive_until_) return LeaseEnd::kNotAlive;
  if (now >= granted_ + terms_.hold_at_most) return LeaseEnd::kHeldTooLong;
  return std::nullopt;
}

base::BootTime LeaseState::deadline() {
  base::MutexLock lock(mutex_);
  const Seen seen = Look();
  const bool believed = seen.state == Lease::State::kHeld || seen.state == Lease::State::kSuspect;
  if (!believed) return base::BootTime();
  // Whichever ends first: what is proven, or the lease's own terms.
  const base::BootTime proven = validity_->DeadlineAt(seen.now, basis_);
  return std::min({proven, alive_until_, granted_ + terms_.hold_at_most});
}

base::BootTime LeaseState::EndTime() {
  base::MutexLock lock(mutex_);
  const base::BootTime terms = std::min(alive_until_, granted_ + terms_.hold_at_most);
  if (!terms_.delay_lifetime.has_value()) return terms;
  return std::min(terms, validity_->DeadlineAt(core_->Now(), basis_));
}

bool LeaseState::StillAlive() {
  base::MutexLock lock(mutex_);
  const Seen seen = Look();
  // A hung holder that comes back late is too late.
  if (seen.end.has_value()) return false;
  // From when it looked: a process that stops in here prolongs the lease by no more than it may.
  alive_until_ = seen.now + terms_.alive_within;
  return seen.state != Lease::State::kUnproven;
}

absl::Duration LeaseState::remaining() {
  return std::max(absl::ZeroDuration(), deadline() - core_->Now());
}

absl::Status LeaseState::WhyLost(const char* operation) {
  const LeaseEnd why = end_reason().value_or(LeaseEnd::kClientClosed);
  return absl::AbortedError(
      absl::StrCat(operation, " ", sequencer_.node, ": the lease had been lost: ", Describe(why)));
}

absl::Status LeaseState::CheckAlive(const char* operation) {
  const Lease::State now = state();
  if (now == Lease::State::kLost) return WhyLost(operation);
  if (now != Lease::State::kReleased) return absl::OkStatus();
  return absl::AbortedError(
      absl::StrCat(operation, " ", sequencer_.node, ": the lease had been released"));
}

void LeaseState::Verify(LeaseHolder::Waiter waiter) {
  if (const auto holder = holder_.lock()) return holder->Verify(std::move(waiter));
  std::move(waiter)(WhyLost("verify"));
}

absl::Status LeaseState::BeginRelease() {
  const std::optional<LeaseEnd> before = End(LeaseEnd::kReleased);
  if (before.has_value() && *before != LeaseEnd::kReleased) return WhyLost("release");
  return absl::OkStatus();
}

void LeaseState::Abandon() {
  if (!End(LeaseEnd::kReleased).has_value()) Leave(nullptr);
}

void LeaseState::Leave(LeaseHolder::Waiter waiter) {
  if (const auto holder = holder_.lock()) return holder->Leave(std::move(waiter));
  // The contender has finished.
  if (waiter != nullptr) std::move(waiter)(left());
}

void LeaseState::SetLeft(const absl::Status& status) {
  base::MutexLock lock(mutex_);
  left_ = status;
}

absl::Status LeaseState::left() {
  base::MutexLock lock(mutex_);
  return left_;
}

// Those that are gone make room: a lease may be followed in vain any number of times.
void LeaseState::AddFollower(const std::shared_ptr<LeaseFollower>& follower) {
  {
    base::MutexLock lock(mutex_);
    std::erase_if(followers_, [](const auto& one) { return one.expired(); });
    if (!announced_) return followers_.push_back(follower);
  }
  follower->OnLeaseEnded();
}

std::optional<LeaseEnd> LeaseState::End(LeaseEnd why) {
  std::optional<LeaseEnd> before;
  {
    base::MutexLock lock(mutex_);
    before = Look().end;
    if (!before.has_value()) end_ = why;
  }
  Announce();
  return before;
}

void LeaseState::AnnounceIfEnded() {
  if (end_reason().has_value()) Announce();
}

std::stop_token LeaseState::ended() {
  base::MutexLock lock(mutex_);
  if (!ended_.stop_possible()) {
    ended_ = std::stop_source();
    if (announced_) ended_.request_stop();
  }
  return ended_.get_token();
}

std::optional<LeaseEnd> LeaseState::end_reason() {
  base::MutexLock lock(mutex_);
  return Look().end;
}

bool LeaseState::released() { return end_reason() == LeaseEnd::kReleased; }

bool LeaseState::announced() {
  base::MutexLock lock(mutex_);
  return announced_;
}

// Once, whoever comes first: the timer of its validity, of its own end, or a call of the user.
// Followers are notified outside the lock, since they may call back.
void LeaseState::Announce() {
  std::stop_source ended(std::nostopstate);
  std::vector<std::weak_ptr<LeaseFollower>> followers;
  {
    base::MutexLock lock(mutex_);
    if (std::exchange(announced_, true)) return;
    ended = ended_;
    followers.swap(followers_);
  }
  for (const auto& follower : followers) {
    if (const auto alive = follower.lock()) alive->OnLeaseEnded();
  }
  // Otherwise there is no callback to run, so no thread to ask for.
  if (ended.stop_possible()) core_->stops().Add(std::move(ended));
}

queue::machine::OwnNodeWrite::Data LeaseState::NewMark() const {
  const auto name = queue::machine::ParseNodeName(zk::NodeName(sequencer_.node));
  const bool kazoo = name.has_value() && name->dialect == queue::machine::Dialect::kKazoo;
  return [dialect = kazoo ? queue::machine::Dialect::kKazoo : queue::machine::Dialect::kCurator,
          mode = grant_.mode, created = grant_.data,
          mark = core_->reactor()->Random()](const std::string& data) {
    if (auto marked = queue::listing::WithMark(dialect, mode, data, mark))
      return *std::move(marked);
    // What a stranger has put there, in which there is no room for a mark, is put right. A raw id
    // stays.
    return queue::listing::WithMark(dialect, mode, created, mark).value_or(data);
  };
}

void LeaseState::OnNodeGone() {
  if (End(LeaseEnd::kNodeDeleted).has_value()) return;
  Verify([](const absl::Status&) {});
}

}  // namespace zkrecipes::internal

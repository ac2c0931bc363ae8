// SPDX-License-Identifier: Apache-2.0
//
// A session's listeners: what they need, what keeps it proven for them, and what they are told.

#include "lib/session/session.h"

namespace zkrecipes::session {
namespace {

// A silent connection leaves a lease in doubt for a fourteenth of it (BeatPace::OverdueAt).
constexpr int kSuspicionChecksPerTimeout = 16;

}  // namespace

void Session::WantSuspicionChecks(bool wanted) {
  suspicion_checks_wanted_ += wanted ? 1 : -1;
  if (wanted && !suspicion_timer_runs_) StartSuspicionChecks();
}

void Session::StartSuspicionChecks() {
  suspicion_timer_runs_ = true;
  reactor_->CallAt(reactor_->Now() + timeout_ / kSuspicionChecksPerTimeout, Guarded([this] {
                     suspicion_timer_runs_ = false;
                     if (suspicion_checks_wanted_ == 0) return;
                     StartSuspicionChecks();
                     ForEach(proof_listeners_,
                             [](ProofListener* listener) { listener->OnSuspicionCheck(); });
                   }));
}

void Session::Join(SessionListener* listener) {
  listeners_.push_back(listener);
  if (!failed_.ok()) return listener->OnFailed(failed_);
  if (closing_) return listener->OnClosing();
  if (connected()) listener->OnConnected();
}

// Its need counts before it hears of the connection: what it sends then goes out in a session that
// is being proven.
void Session::Join(ProofListener* listener) {
  proof_listeners_.push_back(listener);
  NeedChanged(listener);
  Join(static_cast<SessionListener*>(listener));
}

void Session::Part(SessionListener* listener) {
  std::erase(listeners_, listener);
  ++parted_;
  CheckDrained();
}

void Session::Part(ProofListener* listener) {
  std::erase(proof_listeners_, listener);
  if (std::exchange(listener->cannot_leave_, false)) --cannot_leave_;
  Count(listener, {});
  Part(static_cast<SessionListener*>(listener));
  CheckNeeded();
}

void Session::CannotLeave(ProofListener* listener) {
  if (!std::exchange(listener->cannot_leave_, true)) ++cannot_leave_;
  NeedChanged(listener);
  CheckDrained();
  CheckNeeded();
}

// Those that wait go on in the session that follows: here the node may stand in their own way, for
// ever. As a task: this may run inside a call of a listener, and a lease be granted meanwhile.
void Session::CheckNeeded() {
  if (closing_ || !unneeded()) return;
  PostGuarded([this] {
    if (!closing_ && unneeded()) On(machine::event::Unneeded{});
  });
}

// A lease that was given back needs its session until the deletion of its node is answered.
void Session::NeedChanged(ProofListener* listener) {
  Count(listener, listener->cannot_leave_ ? machine::Need() : listener->need());
}

void Session::Count(ProofListener* listener, const machine::Need& need) {
  if (listener->counted_ == need) return;
  // The sum is kept, not recomputed: thousands of contenders may share the session.
  const bool had_lease = needs_.all().lease;
  needs_.Replace(std::exchange(listener->counted_, need), need);
  heartbeat_.SetNeed(needs_.all());
  if (!had_lease && needs_.all().lease) silence_.MoreAtStake();
}

void Session::AnnounceEnded() {
  const StopRequests::Batch batch(*options_.stops);
  for (ProofListener* listener : proof_listeners_) listener->OnValidityEnded();
}

void Session::CheckDrained() {
  // Who cannot leave is rid of its node by the session's end.
  if (!closing_ || drained_ || listeners_.size() > cannot_leave_) return;
  // Requests that are under way may be the deletion of a node: their answers are waited for.
  if (handle_ != nullptr && handle_->pending() > 0) return;
  drained_ = true;
  PostGuarded([this] { On(machine::event::Drained{}); });
}

// ---- liveness -----------------------------------------------------------------------------------

void Session::SendBeat(const zk::Request& request, zk::Handle::Done done) {
  Send(request, std::move(done));
}

// The read that keeps touches available answers a listener's question, if one has any; each of
// several in its turn.
void Session::SendIdleRead(const zk::Request& read, zk::Handle::Done done) {
  ProofListener* const next = NextToCheck();
  if (next == nullptr) return Send(read, std::move(done));
  const std::string path = next->NodeToCheck();
  Send(zk::Get{path}, [this, next, path, alive = std::weak_ptr<char>(alive_),
                       done = std::move(done)](zk::Reply&& reply) mutable {
    if (!alive.expired()) Checked(next, path, reply.code);
    std::move(done)(std::move(reply));
  });
}

void Session::OnAnswered(absl::Duration round_trip, std::optional<absl::Duration> least_left) {
  if (options_.on_report == nullptr || id() == 0) return;
  SessionReport now = report();
  now.round_trip = round_trip;
  now.least_left = least_left;
  options_.on_report(now);
}

SessionReport Session::report() const {
  return {.session = id(),
          .timeout = timeout_,
          .node_bytes = ephemeral_budget_.used(),
          .watch_bytes = watch_budget_.used()};
}

ProofListener* Session::NextToCheck() {
  for (size_t tried = 0; tried < proof_listeners_.size(); ++tried) {
    ProofListener* const next = proof_listeners_[++checked_ % proof_listeners_.size()];
    if (!next->NodeToCheck().empty()) return next;
  }
  return nullptr;
}

// The listener may have left meanwhile, or ask for another node.
void Session::Checked(ProofListener* listener, const std::string& path, zk::Code code) {
  const bool answered = code == zk::Code::kOk || code == zk::Code::kNoNode;
  const bool is_there = std::ranges::find(proof_listeners_, listener) != proof_listeners_.end();
  if (answered && is_there && listener->NodeToCheck() == path) {
    listener->OnNodeChecked(code == zk::Code::kOk);
  }
}

void Session::OnProven() {
  silence_.MoreAtStake();
  ForEach(proof_listeners_, [](ProofListener* listener) { listener->OnProven(); });
}

void Session::OnLapsed() {
  AnnounceEnded();
  ForEach(proof_listeners_, [](ProofListener* listener) { listener->OnLapsed(); });
}

base::BootTime Session::LostAt() {
  const machine::Need need = needs_.all();
  if (!need.lease || validity() == nullptr) return {};
  const base::BootTime now = reactor_->Now();
  if (need.delay_lifetime == absl::InfiniteDuration()) return validity()->ProvenUntil(now);
  return validity()->DeadlineAt(
      now, {.period = validity()->period(), .delay_lifetime = need.delay_lifetime});
}

}  // namespace zkrecipes::session

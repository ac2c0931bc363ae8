// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/contender.h"

#include <cassert>

#include "lib/queue/machine/contender_transition.h"

namespace zkrecipes::queue::machine {

using zk::Code;

Actions Contender::On(Event&& event) {
  Actions actions;
  if (state_ != State::kDone) std::visit(Transition(*this, actions), event);
  return actions;
}

void Contender::Transition::operator()(const event::Connected& e) {
  if (c_.session_ != 0 && c_.session_ != e.session) (*this)(event::Expired{});
  if (Done()) return;
  // The lease that it follows ended with its session.
  if (Follows() && c_.candidacy_.follows.session != e.session) return End(Outcome::kFollowedLost);
  c_.connected_ = true;
  c_.session_ = e.session;
  // Chosen once a session: a create that is repeated must be found by the GUID of the first.
  if (c_.guid_.empty()) c_.guid_ = e.guid;
  Resume();
}

void Contender::Transition::operator()(const event::Disconnected&) {
  c_.connected_ = false;
  c_.own_watch_op_ = 0;
  c_.permit_.let_know_op = 0;  // Resume sends it again
  // The client library sets it again, but KnowsItIsFirst needs a watch armed on this connection.
  if (c_.own_watch_ == OwnWatch::kArmed) c_.own_watch_ = OwnWatch::kSetAgain;
  LoseRequests();
}

void Contender::Transition::operator()(const event::Expired& e) {
  if (c_.state_ == State::kHeld) LoseLease(LeaseEnd::kSessionExpired);
  c_.own_watch_op_ = 0;
  c_.own_watch_ = OwnWatch::kNotYet;  // the session's watches went with it
  if (Follows() && !Leaving()) c_.end_.outcome = Outcome::kFollowedLost;
  // The node went with its session, or will: nothing is left to delete.
  if (Leaving()) {
    c_.end_.unconfirmed = !e.confirmed;
    return Finish();
  }
  Contender anew(c_.candidacy_);
  anew.next_op_ = c_.next_op_;  // a late reply must not be taken for a new request's
  c_ = std::move(anew);
}

void Contender::Transition::operator()(event::Replied& e) {
  if (e.op == 0) return;
  proven_ = e.proven;
  if (e.op == c_.own_watch_op_) return OnOwnWatchReply(e.reply.code);
  if (e.op == c_.check_op_) return OnCheckReply(e.reply.code);
  if (IsPermit() && OnPermitReply(e)) return;
  if (e.op != c_.main_op_ && e.op != c_.list_op_) return;  // not waited for any more
  // The request may have been executed, or not: the state that is gone back to finds out.
  if (NoAnswer(e.reply.code)) return RetryLater();
  if (e.op == c_.main_op_) {
    c_.main_op_ = 0;
    return OnMainReply(e.reply);
  }
  if (c_.main_op_ != 0) return RetryLater();  // ahead of the main reply: it proves nothing
  c_.list_op_ = 0;
  OnListReply(e.reply);
}

// If it is refused (no permission to read the own node), it is tried again after the next
// reconnection.
void Contender::Transition::OnOwnWatchReply(Code code) {
  c_.own_watch_op_ = 0;
  if (NoAnswer(code)) return Do(action::StartRetryTimer{});
  if (code == Code::kOk) c_.own_watch_ = OwnWatch::kArmed;
  if (code == Code::kNoNode) OwnNodeGone();
}

void Contender::Transition::operator()(const event::WatchFired& e) {
  proven_ = e.proven;
  if (!c_.node_.empty() && e.path == c_.node_) return OnOwnWatchFired(e.what);
  if (IsPermit()) return OnPermitWatchFired(e);
  if (c_.state_ != State::kWatching || e.path != PredecessorPath()) return;
  c_.main_op_ = 0;
  const bool deleted = e.what == zk::WatchEvent::kDeleted;
  const bool first = deleted && KnowsItIsFirst();
  if (deleted) c_.in_front_.pop_back();
  first ? Admit() : List();
}

void Contender::Transition::operator()(const event::Leave& e) {
  if (Leaving()) return;
  // A grant releases the lease before.
  if (e.why == Outcome::kFollowedLost && c_.state_ == State::kHeld) return;
  c_.end_.outcome = e.why;
  // Only a holder's record is its own to clear: a contender that is not first again may name
  // another.
  c_.marked_ &= c_.state_ == State::kHeld || c_.state_ == State::kProving;
  switch (c_.state_) {
    case State::kOutside:
    case State::kProbing:
    case State::kMakingParents:
      return Finish();
    case State::kInspecting:
    case State::kNumbering:
      return c_.node_.empty() ? Finish() : BeginLeaving();
    case State::kJoining:
      if (c_.node_.empty()) return;  // the create's answer decides
      return BeginLeaving();
    case State::kResolving:
      return;  // the barrier's listing decides
    case State::kAdopting:
    case State::kListing:
    case State::kWatching:
    case State::kReading:
    case State::kDelaying:
    case State::kMarking:
    case State::kProving:
    case State::kHeld:
    case State::kLeaving:
    case State::kDone:
      return BeginLeaving();
  }
}

void Contender::Transition::operator()(const event::Lapsed& e) {
  if (c_.state_ != State::kHeld) return;
  LoseLease(e.why);
  BeginLeaving();
}

void Contender::Transition::operator()(const event::NodeGone&) {
  proven_ = true;  // by the barrier: only a session that lives commits anything
  if (c_.state_ == State::kHeld) OwnNodeGone();
}

void Contender::Transition::operator()(const event::Proven&) {
  if (c_.state_ == State::kProving) Grant();
}

void Contender::Transition::operator()(const event::RetryDue&) {
  if (c_.connected_) Resume();
}

void Contender::Transition::operator()(const event::DelayOver& e) {
  if (e.op != c_.delay_op_) return;  // of an earlier session
  c_.delay_over_ = true;
  if (c_.state_ == State::kDelaying) List();
}

// A look at the predecessor, not at the queue: usually it is still there.
void Contender::Transition::operator()(const event::CheckDue& e) {
  if (e.op != c_.check_op_ || c_.state_ != State::kWatching) return;
  if (!c_.connected_ || c_.main_op_ != 0) return CheckLater();
  if (IsPermit()) {
    StopWatching();
    return List();
  }
  c_.check_op_ = Send(zk::Get{PredecessorPath()});
}

void Contender::Transition::OnCheckReply(Code code) {
  if (c_.state_ != State::kWatching) return;
  if (code != Code::kNoNode) return CheckLater();
  Do(action::Unwatch{PredecessorPath()});
  c_.main_op_ = 0;
  c_.in_front_.pop_back();
  List();
}

void Contender::Transition::CheckLater() {
  c_.check_op_ = c_.next_op_++;
  Do(action::StartCheckTimer{c_.check_op_});
}

void Contender::Transition::operator()(const event::OwnWatchDue&) {
  if (c_.node_.empty() || Leaving() || c_.own_watch_ != OwnWatch::kNotYet) return;
  c_.own_watch_ = OwnWatch::kWanted;
  if (c_.connected_) WatchOwnNode();
}

// Sends the request that the state waits for, unless it is under way. REQUIRES: connected.
void Contender::Transition::Resume() {
  if (c_.main_op_ == 0 && c_.list_op_ == 0) ResumeState();
  if (c_.own_watch_ == OwnWatch::kWanted && c_.own_watch_op_ == 0 && !Leaving()) WatchOwnNode();
  if (c_.permit_.lets_know && !Leaving()) LetNextKnow();
}

void Contender::Transition::ResumeState() {
  switch (c_.state_) {
    case State::kOutside:
      return c_.candidacy_.try_only ? Probe() : Join();
    case State::kResolving:
      return Resolve("");
    case State::kAdopting:
      return Adopt();
    case State::kListing:
      return List();
    case State::kLeaving:
      return Delete();
    // Their request is under way: LoseRequests leaves none of them without one.
    case State::kProbing:
    case State::kMakingParents:
    case State::kJoining:
    case State::kInspecting:
    case State::kReading:
    case State::kMarking:
    case State::kNumbering:
      assert(false);
      return;
    // These wait for a watch, for a proof, for a timer or for their user.
    case State::kWatching:
    case State::kProving:
    case State::kDelaying:
    case State::kHeld:
    case State::kDone:
      return;
  }
}

// The outstanding requests have an unknown outcome: goes back to the state that can find out. Every
// state is named, since one that is forgotten here waits for ever for an answer that was lost.
void Contender::Transition::LoseRequests() {
  switch (c_.state_) {
    case State::kProbing:
    case State::kMakingParents:
      c_.state_ = State::kOutside;
      break;
    case State::kJoining:
      c_.state_ = c_.node_.empty() ? State::kResolving : State::kListing;
      break;
    case State::kInspecting:
    case State::kNumbering:
      c_.state_ = c_.node_.empty() ? State::kOutside : State::kListing;
      break;
    case State::kWatching:
      if (c_.main_op_ != 0) c_.state_ = State::kListing;  // not armed, or not known to be
      break;
    case State::kReading:
    case State::kMarking:
    case State::kProving:
      c_.state_ = State::kListing;
      break;
    // These ask again from the same state.
    case State::kResolving:
    case State::kAdopting:
    case State::kListing:
    case State::kLeaving:
    // These have no request under way but for the own node's watch.
    case State::kOutside:
    case State::kDelaying:
    case State::kHeld:
    case State::kDone:
      break;
  }
  c_.main_op_ = 0;
  c_.list_op_ = 0;
  c_.permit_.number_op = 0;
}

// For a reply that says nothing, although the connection may still stand.
void Contender::Transition::RetryLater() {
  LoseRequests();
  Do(action::StartRetryTimer{});
}

}  // namespace zkrecipes::queue::machine

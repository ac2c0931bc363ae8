// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/contender_transition.h"

namespace zkrecipes::queue::machine {

using zk::Code;

// Ends a held lease at once. For a queued contender it is only a reason to list: its session may
// just have expired, and then this event comes before the expiry is known.
void Contender::Transition::OnOwnWatchFired(zk::WatchEvent what) {
  if (!OwnNodeWatched()) return;
  c_.own_watch_ = OwnWatch::kNotYet;
  if (what != zk::WatchEvent::kDeleted) return (*this)(event::OwnWatchDue{});
  switch (c_.state_) {
    case State::kHeld:
      return OwnNodeGone();
    case State::kWatching:
      StopWatching();
      break;
    case State::kReading:
    case State::kDelaying:
    case State::kMarking:
    case State::kProving:
    case State::kNumbering:
      break;
    // The answer under way, or the next listing, decides.
    case State::kOutside:
    case State::kProbing:
    case State::kMakingParents:
    case State::kJoining:
    case State::kResolving:
    case State::kAdopting:
    case State::kListing:
    case State::kInspecting:
    case State::kLeaving:
    case State::kDone:
      return;
  }
  c_.main_op_ = 0;
  List();
}

void Contender::Transition::OwnNodeGone() {
  if (Leaving()) return;  // the reply to the delete decides
  if (c_.state_ == State::kHeld) {
    // The node may have gone with its session, whose expiry is not heard of yet: after a pause of
    // this process both are waiting to be read. Only a session that is known to live excludes that.
    LoseLease(proven_ ? LeaseEnd::kNodeDeleted : LeaseEnd::kSessionExpired);
  } else {
    c_.end_.outcome = Outcome::kNodeDeleted;
  }
  Finish();
}

void Contender::Transition::LoseLease(LeaseEnd why) {
  Do(action::LeaseLost{why});
  c_.marked_ = false;  // not given back: the record stays, and the next holder waits the lock delay
  c_.end_.outcome = Outcome::kLost;
}

// REQUIRES: it is known whether there is a node.
void Contender::Transition::Refuse(Code code, const std::string& what, const std::string& path) {
  c_.end_.code = code;
  c_.end_.what = what;
  c_.end_.path = path;
  End(Outcome::kRefused);
}

// Without permission to delete below the parent and to list it, the create's outcome stays unknown.
void Contender::Transition::RefuseToResolve(Code code, const std::string& what) {
  if (!Leaving()) {
    c_.end_ = {
        .outcome = Outcome::kRefused, .code = code, .what = what, .path = c_.candidacy_.parent};
  }
  Do(action::LeaveRefused{code, what, c_.candidacy_.parent});
  RetryLater();
}

void Contender::Transition::End(Outcome outcome) {
  c_.end_.outcome = outcome;
  c_.node_.empty() ? Finish() : BeginLeaving();
}

void Contender::Transition::BeginLeaving() {
  const bool watching = c_.state_ == State::kWatching;
  c_.state_ = State::kLeaving;
  c_.permit_.lets_know = false;  // its deletion does
  c_.main_op_ = 0;
  c_.list_op_ = 0;
  c_.permit_.number_op = 0;
  // Without a connection Resume deletes once there is one; the session's end deletes, too.
  if (c_.connected_) Delete();  // first: the next contender is served before the watch is removed
  if (watching || IsPermit()) StopWatching();
}

// Those in front.
void Contender::Transition::StopWatching() {
  if (!IsPermit()) return Do(action::Unwatch{PredecessorPath()});
  const auto kind = c_.permit_.behind_waiter ? zk::WatchKind::kExists : zk::WatchKind::kNode;
  for (std::string& path : c_.permit_.watched) Do(action::Unwatch{std::move(path), kind});
  c_.permit_.watched.clear();
  c_.permit_.armed = false;
}

void Contender::Transition::Finish() {
  if (c_.state_ == State::kWatching || IsPermit()) StopWatching();
  if (OwnNodeWatched() || c_.own_watch_op_ != 0) Do(action::Unwatch{c_.node_});
  c_.state_ = State::kDone;
  c_.main_op_ = c_.list_op_ = c_.own_watch_op_ = 0;
  c_.permit_.number_op = c_.permit_.let_know_op = 0;
  Do(c_.end_);
}

}  // namespace zkrecipes::queue::machine

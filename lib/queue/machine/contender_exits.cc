// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/contender_step.h"

namespace zkrecipes::queue {

using zk::Code;

// Ends a lease at once. To a queued contender it is hearsay: its session may just have expired, and
// then this comes ahead of that news.
void Contender::Step::OnOwnWatchFired(zk::WatchEvent what) {
  if (!OwnNodeWatched()) return;
  c_.own_watch_ = OwnWatch::kNotYet;
  if (what != zk::WatchEvent::kDeleted) return (*this)(event::OwnWatchDue{});
  if (c_.state_ == State::kHeld) return OwnNodeGone();
  if (c_.state_ == State::kWatching) {
    Do(action::Unwatch{BlockerPath()});
  } else if (c_.state_ < State::kReading || c_.state_ > State::kProving) {
    return;  // what is on its way, or follows, tells
  }
  c_.main_op_ = 0;
  List();
}

void Contender::Step::OwnNodeGone() {
  if (Leaving()) return;  // the delete's own reply tells
  if (c_.state_ == State::kHeld) {
    LoseLease(LossReason::kNodeDeleted);
  } else {
    c_.end_.outcome = Outcome::kNodeDeleted;
  }
  Finish();
}

void Contender::Step::LoseLease(LossReason why) {
  Do(action::LeaseLost{why});
  c_.marked_ = false;  // it did not leave by itself: the next one has to wait
  c_.end_.outcome = Outcome::kLost;
}

// REQUIRES: it is known whether there is a node.
void Contender::Step::Refuse(Code code, const std::string& what, const std::string& path) {
  c_.end_.code = code;
  c_.end_.what = what;
  c_.end_.path = path;
  End(Outcome::kRefused);
}

// Without the right to delete below the parent and to list it nothing can be found out.
void Contender::Step::RefuseToResolve(Code code, const std::string& what) {
  if (!Leaving()) c_.end_ = {Outcome::kRefused, code, what, c_.spec_.parent};
  Do(action::LeaveRefused{code, what, c_.spec_.parent});
  RetryLater();
}

void Contender::Step::End(Outcome outcome) {
  c_.end_.outcome = outcome;
  c_.node_.empty() ? Finish() : BeginLeaving();
}

void Contender::Step::BeginLeaving() {
  const bool watching = c_.state_ == State::kWatching;
  c_.state_ = State::kLeaving;
  c_.main_op_ = 0;
  c_.list_op_ = 0;
  if (c_.connected_) Delete();  // first: whoever waits for us is served before we tidy up
  if (watching) Do(action::Unwatch{BlockerPath()});
}

void Contender::Step::Finish() {
  if (c_.state_ == State::kWatching) Do(action::Unwatch{BlockerPath()});
  if (OwnNodeWatched() || c_.own_watch_op_ != 0) Do(action::Unwatch{c_.node_});
  c_.state_ = State::kDone;
  c_.main_op_ = c_.list_op_ = c_.own_watch_op_ = 0;
  Do(c_.end_);
}

}  // namespace zkrecipes::queue

// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/observer.h"

#include "lib/queue/machine/admission.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::machine::observing {

using zk::Code;

bool GoesAwayByItself(Code code) {
  return zk::OutcomeUnknown(code) || code == Code::kSessionExpired || code == Code::kThrottled;
}

class Observer::Transition {
 public:
  explicit Transition(Observer& observer) : o_(observer) {}

  void operator()(const event::Connected&) { List(); }
  // What was asked is lost. The watch is kept: the client library sets it again.
  void operator()(const event::Disconnected&) { GoOutside(); }
  void operator()(const event::Expired&) {
    o_.watch_op_ = 0;
    GoOutside();
  }

  void operator()(const event::Replied& e) {
    if (e.op == o_.watch_op_) return OnWatchSet(e.reply.code);
    if (e.op != o_.ask_op_) return;  // of a look that was given up
    o_.ask_op_ = 0;
    switch (o_.state_) {
      case State::kListing:
      case State::kChecking:
        return OnListing(e.reply);
      case State::kReading:
        return OnData(e.reply);
      // They wait for no look.
      case State::kOutside:
      case State::kFollowing:
      case State::kVacant:
      case State::kPausing:
      case State::kFailed:
        return;
    }
  }

  void operator()(const event::Fired& e) {
    if (e.op != o_.watch_op_) return;
    o_.watch_op_ = 0;
    switch (o_.state_) {
      case State::kVacant:
        return List();
      case State::kFollowing:
        return e.what == zk::WatchEvent::kDeleted ? List() : Read(o_.head_);
      // The look under way, or the next one, is finished first; otherwise the value of a leader
      // that proclaims all the time would never be reported.
      case State::kOutside:
      case State::kListing:
      case State::kReading:
      case State::kChecking:
      case State::kPausing:
      case State::kFailed:
        return;
    }
  }

  void operator()(const event::RetryDue&) {
    if (o_.state_ == State::kPausing) List();
  }

  Actions actions;

 private:
  void OnWatchSet(Code code) {
    const bool no_node = code == Code::kNoNode;
    if (code != Code::kOk && !no_node) {
      o_.watch_op_ = 0;
      return Trouble(code);
    }
    // In kChecking the watch is set before the question that it guards, so its reply may decide.
    if (o_.state_ != State::kChecking) return;
    const bool of_children = o_.ask_op_ != 0;
    if (of_children && no_node) o_.watch_op_ = 0;  // the listing will show that, too
    if (of_children) return;
    if (!no_node) return List();
    Settle(State::kVacant, std::nullopt);
  }

  void OnListing(const zk::Reply& reply) {
    if (reply.code == Code::kNoNode) return WatchForParent();
    if (reply.code != Code::kOk) return Trouble(reply.code);
    const std::string head = HeadOf(reply.children);
    if (!head.empty()) return Read(head);
    if (o_.state_ == State::kChecking) return Settle(State::kVacant, std::nullopt);
    // Empty: watch for a first child, and list again behind that watch, so that none is missed.
    o_.state_ = State::kChecking;
    Watch({o_.parent_, zk::WatchKind::kNode});
    o_.ask_op_ = Send(zk::GetChildren{o_.parent_});
  }

  void OnData(const zk::Reply& reply) {
    if (reply.code == Code::kNoNode) return List();
    if (reply.code != Code::kOk) return Trouble(reply.code);
    Settle(State::kFollowing, ListedNode{o_.head_, reply.data, reply.stat});
  }

  // Read behind the watch; stale if the watch has fired since.
  void Settle(State state, std::optional<ListedNode> head) {
    o_.state_ = state;
    actions.push_back(action::Tell{std::move(head)});
    if (o_.watch_op_ == 0) List();
  }

  void GoOutside() {
    o_.ask_op_ = 0;
    if (o_.state_ != State::kFailed) o_.state_ = State::kOutside;
  }

  void List() {
    if (o_.state_ == State::kFailed) return;
    o_.state_ = State::kListing;
    o_.ask_op_ = Send(zk::GetChildren{o_.parent_});
  }

  // The watch first: a change after the read is then sure to be heard of.
  void Read(const std::string& head) {
    o_.state_ = State::kReading;
    o_.head_ = head;
    const std::string path = zk::JoinPath(o_.parent_, head);
    Watch({path, zk::WatchKind::kExists});
    o_.ask_op_ = Send(zk::Get{path});
  }

  void WatchForParent() {
    o_.state_ = State::kChecking;
    o_.ask_op_ = 0;
    Watch({o_.parent_, zk::WatchKind::kExists});
  }

  void Trouble(Code code) {
    o_.ask_op_ = 0;
    if (o_.state_ == State::kOutside || o_.state_ == State::kFailed) return;
    if (GoesAwayByItself(code)) {
      o_.state_ = State::kPausing;
      actions.push_back(action::StartRetryTimer{});
      return;
    }
    o_.state_ = State::kFailed;
    if (o_.watch_op_ != 0) actions.push_back(action::Unwatch{std::exchange(o_.watch_op_, 0)});
    actions.push_back(action::Fail{code});
  }

  OpId Send(zk::Request request) {
    const OpId op = o_.next_op_++;
    actions.push_back(action::Send{op, std::move(request)});
    return op;
  }

  // The new one first: if both are of the same node and kind, the server keeps its watch.
  void Watch(zk::Watch watch) {
    const OpId old = std::exchange(o_.watch_op_, o_.next_op_++);
    actions.push_back(action::Watch{o_.watch_op_, std::move(watch)});
    if (old != 0) actions.push_back(action::Unwatch{old});
  }

  Observer& o_;
};

Actions Observer::On(const Event& event) {
  Transition transition(*this);
  std::visit(transition, event);
  return std::move(transition.actions);
}

}  // namespace zkrecipes::queue::machine::observing

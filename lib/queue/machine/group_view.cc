// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/group_view.h"

#include <algorithm>
#include <utility>

#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::machine::grouping {
namespace {

using zk::Code;

constexpr absl::Duration kPauseForEach = absl::Milliseconds(20);
constexpr absl::Duration kLeastMost = absl::Milliseconds(100);
constexpr absl::Duration kMostMost = absl::Seconds(4);
constexpr int kMostSteps = 10;  // more than any pause doubles
// Of the pause before the look that follows a reconnection: all watchers are back at once.
constexpr absl::Duration kMostOnceBack = absl::Seconds(1);

bool IsMember(absl::string_view child) {
  const std::optional<NodeName> name = ParseNodeName(child);
  return name.has_value() && name->mode == Mode::kMember;
}

}  // namespace

absl::Duration MostPause(size_t members) {
  return std::clamp(kPauseForEach * static_cast<double>(members), kLeastMost, kMostMost);
}

class GroupView::Transition {
 public:
  explicit Transition(GroupView& view) : v_(view) {}

  // Another look may be allowed to read what an earlier one was not.
  void operator()(const event::Connected&) {
    std::erase_if(v_.known_, [](const auto& known) { return known.second.stat.czxid == 0; });
    if (!v_.ever_told_) return Look();
    if (v_.state_ == State::kFailed) return;
    v_.state_ = State::kSettled;
    v_.changed_ = true;
    StartPause(Pause::kGathering, std::min(MostPause(v_.shown_.size()), kMostOnceBack));
  }
  // What was asked is lost. The watch is kept: the client library sets it again.
  void operator()(const event::Disconnected&) { GoOutside(); }
  void operator()(const event::Expired&) {
    v_.watch_op_ = 0;
    v_.known_.clear();
    GoOutside();
  }

  void operator()(const event::Replied& e) {
    if (e.op == v_.watch_op_) return OnWatchReply(e.reply);
    const auto read = v_.reading_.find(e.op);
    if (read == v_.reading_.end()) return;  // of a look that was given up
    const std::string name = std::move(read->second);
    v_.reading_.erase(read);
    if (!Keep(name, e.reply)) return Trouble(e.reply.code);
    if (v_.reading_.empty()) Settle(State::kSettled);
  }

  void operator()(const event::Fired& e) {
    if (e.op != v_.watch_op_) return;
    v_.watch_op_ = 0;
    v_.changed_ = true;
    switch (v_.state_) {
      case State::kSettled:
      case State::kMissing:
        return LookOnceGathered();
      // The look under way is finished first, or a group that changes all the time is never told.
      case State::kLooking:
      case State::kReading:
      // The next look is sure to come.
      case State::kOutside:
      case State::kRetrying:
      case State::kFailed:
        return;
    }
  }

  void operator()(const event::PauseOver& e) {
    if (e.op != v_.pause_op_) return;
    const Pause pause = std::exchange(v_.pause_, Pause::kNone);
    if (pause == Pause::kCalm) v_.step_ = 0;
    const bool waits = v_.state_ == State::kSettled || v_.state_ == State::kMissing;
    if (!waits) return;
    if (v_.changed_) return Look();
    if (pause == Pause::kApart) StartPause(Pause::kCalm, MostPause(v_.known_.size()));
  }

  void operator()(const event::RetryDue&) {
    if (v_.state_ == State::kRetrying) Look();
  }

  Actions actions;

 private:
  // The watch and the list are one request, so no change is between them.
  void Look() {
    if (v_.state_ == State::kFailed) return;
    v_.state_ = State::kLooking;
    v_.reading_.clear();
    v_.missed_ = false;
    v_.changed_ = false;
    Watch({v_.parent_, zk::WatchKind::kNode});
  }

  void OnWatchReply(const zk::Reply& reply) {
    const bool looks = v_.state_ == State::kLooking;
    if (!looks && v_.state_ != State::kMissing) return;
    if (reply.code == Code::kNoNode) {
      if (looks) return WatchForPath();
      v_.known_.clear();
      return Settle(State::kMissing);
    }
    if (reply.code != Code::kOk) {
      Unwatch();
      return Trouble(reply.code);
    }
    looks ? OnListing(reply.children) : Look();
  }

  void WatchForPath() {
    v_.state_ = State::kMissing;
    Watch({v_.parent_, zk::WatchKind::kExists});
  }

  void OnListing(const zk::Names& children) {
    std::map<std::string, ListedNode> still;
    v_.state_ = State::kReading;
    for (const std::string& child : children) {
      if (!IsMember(child)) continue;
      const auto known = v_.known_.find(child);
      if (known != v_.known_.end()) {
        still.insert(v_.known_.extract(known));
      } else {
        v_.reading_.emplace(Send(zk::Get{zk::JoinPath(v_.parent_, child)}), child);
      }
    }
    v_.known_ = std::move(still);
    if (v_.reading_.empty()) Settle(State::kSettled);
  }

  // False: the answer says nothing about the node.
  bool Keep(const std::string& name, const zk::Reply& reply) {
    if (reply.code == Code::kNoNode) {
      v_.missed_ = true;
      return true;
    }
    if (reply.code != Code::kOk && reply.code != Code::kNoAuth) return false;
    v_.known_[name] = {name, reply.data, reply.stat};
    return true;
  }

  // What has gone before it was read may have left its id to a node that came after the listing: a
  // view without that id would never have been true. So it is looked again, and not told.
  void Settle(State state) {
    v_.state_ = state;
    if (v_.missed_) {
      v_.changed_ = true;
    } else {
      v_.told_ = v_.ever_told_ = true;
      v_.shown_ = v_.known_;
      actions.push_back(action::Tell{Shown()});
    }
    const absl::Duration most = MostPause(v_.known_.size());
    StartPause(Pause::kApart, std::min(most, kFirst * (1 << std::min(v_.step_, kMostSteps))));
    ++v_.step_;
  }

  // Unless the look before was a moment ago: then the pause that runs ends with the next one.
  void LookOnceGathered() {
    if (v_.pause_ == Pause::kNone || v_.pause_ == Pause::kCalm)
      StartPause(Pause::kGathering, kGather);
  }

  void StartPause(Pause pause, absl::Duration longest) {
    v_.pause_ = pause;
    v_.pause_op_ = v_.next_op_++;
    actions.push_back(action::StartPause{v_.pause_op_, longest});
  }

  void GoOutside() {
    v_.reading_.clear();
    if (v_.state_ == State::kFailed) return;
    v_.state_ = State::kOutside;
    if (std::exchange(v_.told_, false)) actions.push_back(action::Tell{Shown(), false});
  }

  void Trouble(Code code) {
    v_.reading_.clear();
    if (v_.state_ == State::kOutside || v_.state_ == State::kFailed) return;
    if (observing::GoesAwayByItself(code)) {
      v_.state_ = State::kRetrying;
      actions.push_back(action::StartRetryTimer{});
      return;
    }
    v_.state_ = State::kFailed;
    Unwatch();
    actions.push_back(action::Fail{code});
  }

  std::vector<ListedNode> Shown() const {
    std::vector<ListedNode> nodes;
    for (const auto& [name, node] : v_.shown_) nodes.push_back(node);
    return nodes;
  }

  OpId Send(zk::Request request) {
    const OpId op = v_.next_op_++;
    actions.push_back(action::Send{op, std::move(request)});
    return op;
  }

  void Unwatch() {
    if (v_.watch_op_ != 0) actions.push_back(action::Unwatch{std::exchange(v_.watch_op_, 0)});
  }
  // The new one first: if both are of the same node and kind, the server keeps its watch.
  void Watch(zk::Watch watch) {
    const OpId old = std::exchange(v_.watch_op_, v_.next_op_++);
    actions.push_back(action::Watch{v_.watch_op_, std::move(watch)});
    if (old != 0) actions.push_back(action::Unwatch{old});
  }

  GroupView& v_;
};

Actions GroupView::On(const Event& event) {
  Transition transition(*this);
  std::visit(transition, event);
  return std::move(transition.actions);
}

}  // namespace zkrecipes::queue::machine::grouping

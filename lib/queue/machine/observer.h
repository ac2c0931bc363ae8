// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_MACHINE_OBSERVER_H_
#define ZKRECIPES_LIB_QUEUE_MACHINE_OBSERVER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "lib/queue/machine/listed_node.h"
#include "lib/zk/types.h"

namespace zkrecipes::queue::observing {

using OpId = uint64_t;  // 0: none

namespace event {
struct Connected {};     // also again, in the same session
struct Disconnected {};  // watches stay
struct Expired {};       // with its watches
struct Replied {         // to Send or Watch
  OpId op = 0;
  zk::Reply reply;
};
struct Fired {  // the watch of that op, which is used up
  OpId op = 0;
  zk::WatchEvent what = zk::WatchEvent::kDeleted;
};
struct RetryDue {};
}  // namespace event
using Event = std::variant<event::Connected, event::Disconnected, event::Expired, event::Replied,
                           event::Fired, event::RetryDue>;

namespace action {
struct Send {
  OpId op = 0;
  zk::Request request;
  friend bool operator==(const Send&, const Send&) = default;
};
struct Watch {
  OpId op = 0;
  zk::Watch watch;
  friend bool operator==(const Watch&, const Watch&) = default;
};
struct Unwatch {  // may have fired
  OpId op = 0;
  friend bool operator==(const Unwatch&, const Unwatch&) = default;
};
struct StartRetryTimer {
  friend bool operator==(const StartRetryTimer&, const StartRetryTimer&) = default;
};
struct Tell {  // nothing: nobody is in the queue
  std::optional<ListedNode> head;
  friend bool operator==(const Tell&, const Tell&) = default;
};
struct Fail {  // the last
  zk::Code code = zk::Code::kOk;
  friend bool operator==(const Fail&, const Fail&) = default;
};
}  // namespace action
using Action = std::variant<action::Send, action::Watch, action::Unwatch, action::StartRetryTimer,
                            action::Tell, action::Fail>;
using Actions = std::vector<Action>;

// Follows who is first in a queue: pure. Every answer that rests on a look is taken behind a watch
// that was sent before it on the same connection, so the latest state is never missed; at most one
// watch is wanted at a time: of the head's node, or while there is none of the parent's children,
// or while there is no parent of its existence.
//
//  kOutside --Connected--> kListing --a contender--> kReading --its data: tell--> kFollowing
//     ^                     |  ^  ^                  |  ^                           |     |
//     | Disconnected,       |  |  +------ gone ------+  +--- fired: data was set ---+     |
//     | SessionLost         |  +------------------------- fired: deleted -----------------+
//   (any)                   |  |
//                           |  +-- fired, or no more so --------------------------+
//                           +-- none: watch the children, list again --> kChecking +--> kVacant
//                           +-- no parent: watch for it -----------------^   nobody: tell
//
// An answer that a reconnection may still change (zk::OutcomeUnknown): kPausing, then kListing. One
// that it does not: kFailed.
class Observer {
 public:
  enum class State {
    kOutside,
    kListing,
    kReading,
    kFollowing,
    kChecking,
    kVacant,
    kPausing,
    kFailed,
  };

  explicit Observer(std::string parent) : parent_(std::move(parent)) {}

  Actions On(const Event& event);
  State state() const { return state_; }

 private:
  class Step;

  std::string parent_;
  State state_ = State::kOutside;
  OpId next_op_ = 1;
  OpId ask_op_ = 0;    // the look whose answer counts
  OpId watch_op_ = 0;  // the watch that is set, or being set
  std::string head_;   // kReading, kFollowing
  std::optional<std::optional<ListedNode>> told_;

  auto Tie() const { return std::tie(parent_, state_, next_op_, ask_op_, watch_op_, head_, told_); }

 public:
  friend bool operator==(const Observer& a, const Observer& b) { return a.Tie() == b.Tie(); }
};

}  // namespace zkrecipes::queue::observing

#endif  // ZKRECIPES_LIB_QUEUE_MACHINE_OBSERVER_H_

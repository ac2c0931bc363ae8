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

#include "lib/queue/machine/node_name.h"
#include "lib/zk/seam/types.h"

namespace zkrecipes::queue::machine::observing {

using OpId = uint64_t;  // 0: none

// Whether another look may be answered otherwise.
bool GoesAwayByItself(zk::Code code);

namespace event {
struct Connected {};     // also after a reconnection, in the same session
struct Disconnected {};  // watches stay
struct Expired {};       // with its watches
struct Replied {         // to Send or Watch
  OpId op = 0;
  zk::Reply reply;
};
struct Fired {  // the watch of that op is used up
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
struct Tell {  // nullopt: the queue is empty
  std::optional<ListedNode> head;
  friend bool operator==(const Tell&, const Tell&) = default;
};
struct Fail {  // the last action
  zk::Code code = zk::Code::kOk;
  friend bool operator==(const Fail&, const Fail&) = default;
};
}  // namespace action
using Action = std::variant<action::Send, action::Watch, action::Unwatch, action::StartRetryTimer,
                            action::Tell, action::Fail>;
using Actions = std::vector<Action>;

// Follows which node is first in a queue: pure. Each look is sent behind its watch on the same
// connection, so the latest state is never missed, though states between two looks may be. At most
// one watch is wanted at a time: on the head's node, for its deletion and its data; without a head,
// on the parent's children; without a parent, on its existence. So while there is a leader,
// contenders that join or leave do not wake an observer. It tells what each look showed, even if
// nothing changed: what the user has been told is left out by listing::Observe.
//
//  kOutside --Connected--> kListing --a contender--> kReading --its data: tell--> kFollowing
//     ^                     |  ^  ^                  |  ^                           |     |
//     | Disconnected,       |  |  +--- deleted ------+  +--- fired: data was set ---+     |
//     | Expired             |  +------------------------- fired: deleted -----------------+
//   (any)                   |  |
//                           |  +-- fired ------------------------------------------+
//                           +-- none: watch the children, list again --> kChecking +--> kVacant
//                           +-- no parent: watch for it -----------------^   none: tell
//
// After an answer that may be different later: kPausing, then kListing. After any other error:
// kFailed.
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
  using Tell = action::Tell;

  explicit Observer(std::string parent) : parent_(std::move(parent)) {}

  Actions On(const Event& event);
  State state() const { return state_; }

 private:
  class Transition;

  std::string parent_;
  State state_ = State::kOutside;
  OpId next_op_ = 1;
  OpId ask_op_ = 0;    // the look whose answer counts
  OpId watch_op_ = 0;  // the watch that is set, or being set
  std::string head_;   // kReading, kFollowing

  auto Tie() const { return std::tie(parent_, state_, next_op_, ask_op_, watch_op_, head_); }

 public:
  friend bool operator==(const Observer& a, const Observer& b) { return a.Tie() == b.Tie(); }
};

}  // namespace zkrecipes::queue::machine::observing

#endif  // ZKRECIPES_LIB_QUEUE_MACHINE_OBSERVER_H_

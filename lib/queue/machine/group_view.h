// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_MACHINE_GROUP_VIEW_H_
#define ZKRECIPES_LIB_QUEUE_MACHINE_GROUP_VIEW_H_

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "absl/time/time.h"

#include "lib/queue/machine/node_name.h"
#include "lib/queue/machine/observer.h"
#include "lib/zk/seam/types.h"

namespace zkrecipes::queue::machine::grouping {

using observing::OpId;

namespace event {
using observing::event::Connected;
using observing::event::Disconnected;
using observing::event::Expired;
using observing::event::Fired;
using observing::event::Replied;
using observing::event::RetryDue;
struct PauseOver {
  OpId op = 0;
};
}  // namespace event
using Event = std::variant<event::Connected, event::Disconnected, event::Expired, event::Replied,
                           event::Fired, event::RetryDue, event::PauseOver>;

namespace action {
using observing::action::Fail;
using observing::action::Send;
using observing::action::StartRetryTimer;
using observing::action::Unwatch;
using observing::action::Watch;
// Answered by PauseOver after a random time between half of `longest` and all of it, so that a
// group's watchers do not all look at once.
struct StartPause {
  OpId op = 0;
  absl::Duration longest;
  friend bool operator==(const StartPause&, const StartPause&) = default;
};
struct Tell {
  std::vector<ListedNode> nodes;  // by name; one that may not be read has neither data nor stat
  bool connected = true;  // false: they are those of the last Tell, and may have changed since
  friend bool operator==(const Tell&, const Tell&) = default;
};
}  // namespace action
using Action = std::variant<action::Send, action::Watch, action::Unwatch, action::StartRetryTimer,
                            action::StartPause, action::Tell, action::Fail>;
using Actions = std::vector<Action>;

// The pauses between two looks: see docs/adr/0063. A change is looked at after kGather, so that
// changes which come together are seen together; but the next look is not before kFirst after the
// one before, then twice that, ..., up to MostPause. These pauses begin anew once nothing has
// changed for MostPause.
inline constexpr absl::Duration kGather = absl::Milliseconds(20);
inline constexpr absl::Duration kFirst = absl::Milliseconds(50);
absl::Duration MostPause(size_t members);

// Follows which members a group has: pure. A look is one request, which sets the watch on the
// path's children and returns them, and a read of each node that is new, all in one flight. It is
// told when all is read, so each view is that of one listing. If a node goes before it is read,
// another look follows before anything is told. After a reconnection a look follows a pause.
// At most one watch is wanted at a time: on the children or, without the path, on its existence.
// It tells what each look showed, even if nothing changed: the runner leaves out what the user has
// been told.
//
//  kOutside --Connected--> kLooking ----- nothing new: tell ----> kSettled
//     ^                     |  ^  |                                ^  |
//     | Disconnected,       |  |  +--> kReading --all read: tell---+  | fired; the pause is over
//     | Expired             |  |                                      |
//   (any)                   |  +--------------------------------------+
//                           |  +------------ fired, and the pause is over --+
//                           +-- no path: watch for it --> kMissing: tell ---+
//
// After an answer that may be different later: kRetrying, then kLooking. After any other error:
// kFailed.
class GroupView {
 public:
  enum class State { kOutside, kLooking, kReading, kSettled, kMissing, kRetrying, kFailed };
  using Tell = action::Tell;

  explicit GroupView(std::string parent) : parent_(std::move(parent)) {}

  Actions On(const Event& event);
  State state() const { return state_; }

 private:
  class Transition;
  enum class Pause { kNone, kGathering, kApart, kCalm };

  std::string parent_;
  State state_ = State::kOutside;
  OpId next_op_ = 1;
  OpId watch_op_ = 0;                        // the watch that is set, or being set
  bool changed_ = false;                     // it has fired since the last look began
  std::map<OpId, std::string> reading_;      // kReading: names of the nodes
  bool missed_ = false;                      // one of them has gone
  std::map<std::string, ListedNode> known_;  // of the last listing, as far as they were read
  std::map<std::string, ListedNode> shown_;  // those of the last view
  bool told_ = false;                        // while connected
  bool ever_told_ = false;
  Pause pause_ = Pause::kNone;
  OpId pause_op_ = 0;
  int step_ = 0;  // how many looks there were since the last calm

  auto Tie() const {
    return std::tie(parent_, state_, next_op_, watch_op_, changed_, reading_, missed_, known_,
                    shown_, told_, ever_told_, pause_, pause_op_, step_);
  }

 public:
  friend bool operator==(const GroupView& a, const GroupView& b) { return a.Tie() == b.Tie(); }
};

}  // namespace zkrecipes::queue::machine::grouping

#endif  // ZKRECIPES_LIB_QUEUE_MACHINE_GROUP_VIEW_H_

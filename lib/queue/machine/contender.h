// SPDX-License-Identifier: Apache-2.0
//
// One contender's life in the queue, as a state machine: events in, actions out. No threads, no
// clock, no I/O, no callbacks; a copyable value with a complete hash, so that an explorer can fork
// it and recognise it. contender_runner.h lets it act.
//
//                 try: free
//   kProbing ------------------+   +-- not there ----- kResolving <---------------+
//      ^ \ busy: kDone         v   v                    | there                   |
//      |  `                 kJoining -- create's outcome unknown -----------------+
//   kOutside -----------> (create2 and list     kAdopting (whose is it? and list)
//      ^   connected        in one flight)               |
//      |                    |  |     | no parent         |
//      |                    |  |     `--> kMakingParents --> kJoining
//      | session lost       |  |                         |
//      | while queued       |  +--- somebody in front ---+--> kWatching <--> kListing
//      | (place lost)       |                            |                      |
//      |                    +------ nobody in front -----+-----> kHeld <--------+
//      |                                                           |
//   any of these -- leave, refused, lease lost, own node gone --> kLeaving (delete until it is
//                                                                 gone) --> kDone
//
// A loss of the connection leaves the state and makes every outstanding request's outcome unknown;
// Connected continues from there. A node whose create went unanswered is looked for behind a
// committed barrier (a delete of a child that never exists), never by a bare listing. An event is
// only a reason to look, for events of a session that has just ended come ahead of that news:
// nothing is granted but from a listing that shows the own node, answered to the session that owns
// it, or when the last one in front is deleted, the own node is watched and the session is proven
// to be alive. A queued contender is told that its node was deleted only when a listing says so.
// Who waits for a proof and is first in the queue does so in kProving, between a listing and kHeld.
//
// Strict: between being first and kHeld (or kProving) there is the record of the last holder, a
// child of the parent (contender_record.cc):
//
//   first --> kReading -- clean, or none ---------------------> kMarking --> kProving or kHeld
//               ^  `-- another's name: kDelaying --DelayOver--> (list, and read again)
//               +------- somebody else wrote it --------------------'
//
// Whoever is released takes its name out of the record first. One that vanishes leaves it.
//
// One that follows another lease (an upgrade, a downgrade) has no second session: it ends with that
// lease's, and when a listing does not show that lease's node.

#ifndef ZKRECIPES_LIB_QUEUE_MACHINE_CONTENDER_H_
#define ZKRECIPES_LIB_QUEUE_MACHINE_CONTENDER_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "lib/queue/machine/node_name.h"
#include "lib/zk/types.h"

namespace zkrecipes::queue {

using OpId = uint32_t;  // 0: none

// The child of the parent in which strict contenders keep the name of the last holder's node.
inline constexpr char kRecordName[] = "zkrecipes-holder";

// The lease that an upgrade or a downgrade goes on from: see docs/adr/0017.
struct Followed {
  std::string node;  // its name; empty: none
  zk::SessionId session = 0;
  int64_t token = 0;

  friend bool operator==(const Followed&, const Followed&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Followed& f) {
    return H::combine(std::move(h), f.node, f.session, f.token);
  }
};

struct ContenderSpec {
  std::string parent;  // the recipe's path, as the server knows it
  Mode mode = Mode::kExclusive;
  Dialect dialect = Dialect::kCurator;
  std::string data;       // of the node: who is waiting
  bool try_only = false;  // do not wait: look first, and leave again if not admitted at once
  bool strict = false;    // keep the record of the last holder, and wait after one that vanished
  bool wait_for_proof = false;  // be granted only while the lease deadline lies in the future
  Followed follows = {};  // a reader's node of this session, or a writer's whose place is taken

  friend bool operator==(const ContenderSpec&, const ContenderSpec&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ContenderSpec& s) {
    return H::combine(std::move(h), s.parent, s.mode, s.dialect, s.data, s.try_only, s.strict,
                      s.wait_for_proof, s.follows);
  }
};

// A downgrade: its node has the number of the writer's that it follows.
inline bool TakesPlace(const ContenderSpec& spec) {
  return !spec.follows.node.empty() && spec.mode == Mode::kShared;
}

// Why a contender ended without (or after) a grant.
enum class Outcome {
  kNone,
  kLeft,          // asked to leave: released, timed out, cancelled, closed
  kBusy,          // try only: others are in the way
  kLost,          // was granted, and the lease was lost
  kNodeDeleted,   // somebody deleted its node while it was queued
  kRefused,       // the server refused a request for good; see code and request
  kExhausted,     // the parent's sequence numbers are nearly used up
  kForeignOwner,  // the server gave the node to another session
  kFollowedLost,  // the lease that it was to follow is over
  kWriterQueued,  // an upgrade: another writer is in front
};

enum class LossReason { kSessionExpired, kNodeDeleted, kLapsed };

// ---- Events ------------------------------------------------------------------------------------

namespace event {
// The session is connected, for the first time or again. `guid` is fresh; it is used if this
// contender has no node of this session yet.
struct Connected {
  zk::SessionId session = 0;
  std::string guid;
};
// Replies to requests outstanding now count for nothing from here on, if they come at all.
struct Disconnected {};
// The session is gone, and every ephemeral node of it is gone or going.
struct Expired {};
struct Replied {
  OpId op = 0;
  zk::Reply reply;
  bool proven = false;  // at this moment nobody can have expired the session
};
struct WatchFired {
  std::string path;
  zk::WatchEvent what = zk::WatchEvent::kDeleted;
  bool proven = false;  // likewise
};
// Give up the wait, or release. Irrevocable.
struct Leave {};
// Held: the lease can no longer be believed although its session may be alive.
struct Lapsed {};
// The session is proven again, after a time in which it was not.
struct Proven {};
// A timer asked for by StartTimer.
struct RetryDue {};
struct OwnWatchDue {};
struct DelayOver {
  OpId op = 0;  // of StartDelayTimer
};
}  // namespace event

using Event = std::variant<event::Connected, event::Disconnected, event::Expired, event::Replied,
                           event::WatchFired, event::Leave, event::Lapsed, event::Proven,
                           event::RetryDue, event::OwnWatchDue, event::DelayOver>;

// ---- Actions: carry them out in order ----------------------------------------------------------

namespace action {
// Answer with event::Replied{op}. A zk::WatchNode goes through the session's shared watches.
struct Send {
  OpId op = 0;
  zk::Request request;
};
// No longer interested in this watch, if there is one.
struct Unwatch {
  std::string path;
};
// After a pause of the runner's choice: event::RetryDue, event::OwnWatchDue; after the lock delay:
// event::DelayOver.
struct StartRetryTimer {};
struct StartOwnWatchTimer {};
struct StartDelayTimer {
  OpId op = 0;
};
struct Granted {
  int64_t token = 0;  // the node's czxid, but for a downgrade
  std::string node;
  int64_t czxid = 0;
  zk::SessionId session = 0;
};
// Once, after Granted and unless asked to leave before.
struct LeaseLost {
  LossReason why = LossReason::kSessionExpired;
};
// The place in the queue is lost with its session; a new one is taken as soon as possible.
struct PlaceLost {};
// The server refuses what it takes to leave: to delete the node or, while it is unknown whether
// there is one, to find that out. If there is a node it stays until its session ends. Retried.
struct LeaveRefused {
  zk::Code code = zk::Code::kOk;  // what the server said
  std::string what;               // to which request
  std::string path;               // on which path
};
// Last. Nothing of this contender is left on the server.
struct Finished {
  Outcome outcome = Outcome::kNone;
  zk::Code code = zk::Code::kOk;  // kRefused: what the server said
  std::string what;               // kRefused: to which request
  std::string path;               // and on which path

  friend bool operator==(const Finished&, const Finished&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Finished& f) {
    return H::combine(std::move(h), f.outcome, f.code, f.what, f.path);
  }
};
}  // namespace action

using Action =
    std::variant<action::Send, action::Unwatch, action::StartRetryTimer, action::StartOwnWatchTimer,
                 action::StartDelayTimer, action::Granted, action::LeaseLost, action::PlaceLost,
                 action::LeaveRefused, action::Finished>;
using Actions = std::vector<Action>;

// ---- The machine -------------------------------------------------------------------------------

class Contender {
 public:
  enum class State {
    kOutside,        // wants in; nothing of it is on the server
    kProbing,        // try only: list in flight
    kMakingParents,  // create of a container in flight
    kJoining,        // create2 and list in flight, or the list alone
    kResolving,      // create's outcome unknown: barrier and list in flight, or no connection
    kAdopting,       // found its node again: get and list in flight
    kListing,        // list in flight, or no connection
    kWatching,       // the blocker's watch is in flight or armed
    kReading,        // strict: first in the queue; get of the record in flight
    kDelaying,       // the last holder has vanished: waits for DelayOver
    kMarking,        // write of the record in flight
    kProving,        // first in the queue, and waits for Proven
    kHeld,
    kLeaving,  // delete in flight, or no connection, or waiting for the retry timer
    kDone,
  };

  explicit Contender(ContenderSpec spec) : spec_(std::move(spec)) {}

  // Total: any event may come in any state. After kDone nothing has an effect.
  Actions On(const Event& event);

  State state() const { return state_; }
  const std::string& node() const { return node_; }  // full path, empty while not known
  // Who is known to be in front, in queue order: the last one is watched. Newcomers queue behind,
  // so between two listings it only shrinks.
  const std::vector<std::string>& lower() const { return lower_; }

 private:
  class Step;  // contender_step.h: the transitions

  // kSetAgain: armed on an earlier connection, set again by the client library on this one.
  enum class OwnWatch { kNotYet, kWanted, kArmed, kSetAgain };

  ContenderSpec spec_;
  State state_ = State::kOutside;
  bool connected_ = false;
  zk::SessionId session_ = 0;  // of the connection, and of the node if there is one
  std::string guid_;           // of this session's node; empty: none chosen yet
  std::string node_;           // own node's full path, once known
  zk::Stat stat_;              // own node's
  std::string missing_;        // kMakingParents: the container being created
  std::vector<std::string> lower_;

  // Outstanding requests. The state's main one (create, barrier, get, watch, delete) is sent, and
  // so answered, before its list.
  OpId next_op_ = 1;
  OpId main_op_ = 0;
  OpId list_op_ = 0;
  OpId own_watch_op_ = 0;
  OwnWatch own_watch_ = OwnWatch::kNotYet;
  OpId delay_op_ = 0;           // strict: of the wait after one that vanished, once it has begun
  bool delay_over_ = false;     // that wait
  int32_t record_version_ = 0;  // strict: of the record, once read or written
  bool marked_ = false;         // strict: the record says that this one holds the lock

  action::Finished end_;  // what to say at kDone; an outcome other than kNone: on the way there

  auto Tie() const {
    return std::tie(spec_, state_, connected_, session_, guid_, node_, stat_, missing_, lower_,
                    next_op_, main_op_, list_op_, own_watch_op_, own_watch_, delay_op_, delay_over_,
                    record_version_, marked_, end_);
  }

 public:
  friend bool operator==(const Contender& a, const Contender& b) { return a.Tie() == b.Tie(); }
  template <typename H>
  friend H AbslHashValue(H h, const Contender& c) {
    return H::combine(std::move(h), c.Tie());
  }
};

}  // namespace zkrecipes::queue

#endif  // ZKRECIPES_LIB_QUEUE_MACHINE_CONTENDER_H_

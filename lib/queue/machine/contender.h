// SPDX-License-Identifier: Apache-2.0
//
// One contender in the queue, as a state machine: events in, actions out. No threads, no clock, no
// I/O, no callbacks; a copyable value with a complete hash, so that an explorer can fork it and
// recognise its states. contender_runner.h drives it.
//
//                 try: free
//   kProbing ------------------+   +-- not there ----- kResolving <---------------+
//      ^ \ busy: kDone         v   v                    | there                   |
//      |  `                 kJoining -- create's outcome unknown -----------------+
//   kOutside -----------> (create2 and list     kAdopting (get its Stat, and list)
//      ^   connected        in one flight)               |
//      |                    |  |     | no parent         |
//      |                    |  |     `--> kMakingParents --> kJoining
//      | session expired    |  |                         |
//      | while queued       |  +---- a node in front ----+--> kWatching <--> kListing
//      |                    |                            |                      |
//      |                    +------ none in front -------+-----> kHeld <--------+
//      |                                                           |
//   A listing that shows a child `leases` leads to kInspecting, which lists that child, and the
//   queue once more; from there it goes on as from kListing, or as from kProbing.
//
// A semaphore's permit (permits.h): a read of the path's data, which is the number of permits, goes
// ahead of each listing; where there is none it is written (kNumbering), and listed again. The
// first waiter watches all that hold; one behind a waiter watches that one's data, too, and once
// the watch is set lists again unless the data is as it was. A contender that is granted, and
// followed, sets the data of its own node.
//
// A group's member waits for nobody: kJoining and kAdopting have no list in flight, and the answer
// to the create, or the Stat, leads straight to kHeld (or kProving).
//
//   any of these -- leave, refused, lease lost, own node gone --> kLeaving (delete until it is
//                                                                 gone) --> kDone
//
// Losing the connection makes the outcome of every outstanding request unknown: the contender goes
// back to the state that can find out, and Connected continues from there. When the session expires
// while the contender is queued, it starts again at the tail, in kOutside.
//
// If a create gets no answer, its node is looked for behind a committed barrier (a delete of a
// child that never exists), never with a bare listing: the node may yet appear after the listing.
//
// An event is only a reason to look, because events of a session that has just expired arrive
// before the expiry is known. A grant therefore rests on a listing that shows the own node and was
// answered to the session that owns it; or, when the last node in front is deleted, on the own node
// being watched and the session being proven alive. Likewise a queued contender believes only a
// listing that its own node was deleted. A contender that has to wait for a proof does so in
// kProving, between the listing and kHeld.
//
// Lock-delay mode: between being first and kHeld (or kProving) there is the record of the last
// holder, a child of the parent (contender_record.cc):
//
//   first --> kReading -- clean, or none ---------------------> kMarking --> kProving or kHeld
//               ^  `-- another's name: kDelaying --DelayOver--> (list, and read again)
//               +------- another contender wrote it ----------------'
//
// A holder that releases clears the record first; one that vanishes leaves its name there. A reader
// goes from a clean record straight on, and after the delay writes an empty one (kMarking). A
// writer among readers lists once more behind its mark.
//
// A contender that follows another lease (an upgrade, a downgrade) gets no second session: it ends
// when that lease or its session ends, or when a listing does not show that lease's node.

#ifndef ZKRECIPES_LIB_QUEUE_MACHINE_CONTENDER_H_
#define ZKRECIPES_LIB_QUEUE_MACHINE_CONTENDER_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/inlined_vector.h"

#include "lib/queue/machine/admission.h"
#include "lib/queue/machine/candidacy.h"
#include "lib/queue/machine/in_front.h"
#include "lib/zk/seam/types.h"
#include "zkrecipes/lease_end.h"

namespace zkrecipes::queue::machine {

using OpId = uint32_t;  // 0: none

// Why a contender ended without (or after) a grant.
enum class Outcome : uint8_t {
  kNone,
  kLeft,          // asked to leave: released, timed out, cancelled, closed
  kBusy,          // try only: other contenders are in the way
  kLost,          // was granted, and the lease was lost
  kNodeDeleted,   // its node was deleted from outside while it was queued
  kRefused,       // the server refused a request for good; see code and request
  kExhausted,     // the parent's sequence numbers are nearly used up
  kForeignOwner,  // the server gave the node to another session
  kFollowedLost,  // the lease that it follows is lost or released
  kWriterQueued,  // an upgrade: another writer is in front
  kBlind,         // other libraries' contenders do not see its node (admission.h)
  kOtherNumber,   // a semaphore's path has another number of permits; `what` is its data
};

// ---- Events ------------------------------------------------------------------------------------

namespace event {
// The session is connected, for the first time or again. `guid` is fresh; it is used if this
// contender has no node of this session yet.
struct Connected {
  zk::SessionId session = 0;
  std::string guid;
};
// From here on replies to outstanding requests are ignored, should any still come.
struct Disconnected {};
// The ensemble has ended the session; its ephemeral nodes are deleted, or about to be.
struct Expired {
  bool confirmed = false;  // it was asked to, and has answered: they are deleted
};
struct Replied {
  OpId op = 0;
  zk::Reply reply;
  bool proven = false;  // at this moment the ensemble cannot have expired the session
};
struct WatchFired {
  std::string path;
  zk::WatchEvent what = zk::WatchEvent::kDeleted;
  bool proven = false;  // as above
};
// Give up the wait, or release. Irrevocable.
struct Leave {
  // kFollowedLost: the lease that it follows has ended, as it does after a grant, too: then
  // nothing.
  Outcome why = Outcome::kLeft;
};
// A deadline of the lease has passed: it cannot be believed any more, though its session may live.
struct Lapsed {
  LeaseEnd why = LeaseEnd::kDeadlinePassed;  // which one
};
// The ensemble says, behind a barrier that this session committed, that the granted node is gone.
struct NodeGone {};
// The session is proven again, after a time in which it was not.
struct Proven {};
// The timers asked for by the actions below.
struct RetryDue {};
struct OwnWatchDue {};
struct CheckDue {
  OpId op = 0;  // of StartCheckTimer
};
struct DelayOver {
  OpId op = 0;  // of StartDelayTimer
};
}  // namespace event

using Event =
    std::variant<event::Connected, event::Disconnected, event::Expired, event::Replied,
                 event::WatchFired, event::Leave, event::Lapsed, event::NodeGone, event::Proven,
                 event::RetryDue, event::OwnWatchDue, event::CheckDue, event::DelayOver>;

// ---- Actions: carry them out in order ----------------------------------------------------------

namespace action {
// Answer with event::Replied{op}. A zk::WatchNode goes through the session's shared watches.
struct Send {
  OpId op = 0;
  zk::Request request;
};
// This watch, if there is one, is not wanted any more.
struct Unwatch {
  std::string path;
  zk::WatchKind kind = zk::WatchKind::kNode;
};
// After a pause of the runner's choice: event::RetryDue, event::OwnWatchDue, event::CheckDue; after
// the lock delay: event::DelayOver.
struct StartRetryTimer {};
struct StartOwnWatchTimer {};
// A few session timeouts: in case the server has lost the watch on the predecessor.
struct StartCheckTimer {
  OpId op = 0;
};
struct StartDelayTimer {
  OpId op = 0;
  int64_t record_czxid = 0;  // the record that names the holder that vanished, as it was found
  int32_t record_version = 0;
  std::string holder = {};  // that one's node
};
// Once, after the grant, unless it was asked to leave before.
struct LeaseLost {
  LeaseEnd why = LeaseEnd::kSessionExpired;
};
// The server refuses what leaving needs: deleting the node or, while it is unknown whether there is
// one, finding that out. It is retried; a node that cannot be deleted stays until its session ends.
struct LeaveRefused {
  zk::Code code = zk::Code::kOk;  // what the server said
  std::string what;               // to which request
  std::string path;               // on which path
};
// The last action: nothing of this contender is left on the server, or its session has ended.
struct Finished {
  Outcome outcome = Outcome::kNone;
  // Its session has ended, and neither that nor the deletion of its node was confirmed. The node
  // may be there for another while: a leader says that it ends a session before it has, and may
  // fail in between.
  bool unconfirmed = false;
  zk::Code code = zk::Code::kOk;        // kRefused: the server's answer,
  std::string what;                     // to which request,
  std::string path;                     // on which path
  std::vector<std::string> blind = {};  // kBlind: these

  friend bool operator==(const Finished&, const Finished&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Finished& f) {
    return H::combine(std::move(h), f.outcome, f.code, f.what, f.path, f.blind, f.unconfirmed);
  }
};
}  // namespace action

using Action =
    std::variant<action::Send, action::Unwatch, action::StartRetryTimer, action::StartOwnWatchTimer,
                 action::StartCheckTimer, action::StartDelayTimer, Grant, action::LeaseLost,
                 action::LeaveRefused, action::Finished>;
using Actions = absl::InlinedVector<Action, 2>;  // as many as a flight; most events have fewer

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
    kInspecting,     // the list had a child `leases`: its own list and that of the queue in flight
    kWatching,       // the predecessor's watch is in flight or armed
    kReading,        // lock-delay mode: first in the queue; get of the record in flight
    kDelaying,       // the last holder vanished: waits for DelayOver
    kMarking,        // write of the record in flight
    kProving,        // first in the queue, and waits for Proven
    kNumbering,      // a semaphore's: write of the path's number of permits in flight
    kHeld,
    kLeaving,  // delete in flight, or no connection, or waiting for the retry timer
    kDone,
  };

  explicit Contender(Candidacy candidacy) : candidacy_(std::move(candidacy)) {}

  // Total: any event may come in any state. After kDone nothing has an effect. The event is used
  // up.
  Actions On(Event&& event);

  const Candidacy& candidacy() const { return candidacy_; }
  State state() const { return state_; }
  const std::string& node() const { return node_; }  // full path, empty while not known
  // The nodes known to be in front; the nearest is watched.
  const InFront& in_front() const { return in_front_; }
  // How it ends, once its outcome is not kNone: from then on it only leaves.
  const action::Finished& end() const { return end_; }

 private:
  class Transition;  // contender_transition.h: the transitions

  // kSetAgain: armed on an earlier connection, set again by the client library on this one.
  enum class OwnWatch : uint8_t { kNotYet, kWanted, kArmed, kSetAgain };

  Candidacy candidacy_;
  State state_ = State::kOutside;
  bool connected_ = false;
  Leases leases_ = Leases::kOthers;  // kInspecting: what was found in the child `leases`
  zk::SessionId session_ = 0;        // of the connection, and of the node if there is one
  std::string guid_;                 // of this session's node; empty: none chosen yet
  std::string node_;                 // own node's full path, once known
  int64_t czxid_ = 0;                // own node's
  std::string missing_;              // kMakingParents: the container being created
  InFront in_front_;

  // Outstanding requests. The state's main one (create, barrier, get, watch, delete) is sent, and
  // so answered, before its list.
  OpId next_op_ = 1;
  OpId main_op_ = 0;
  OpId list_op_ = 0;
  OpId own_watch_op_ = 0;
  OpId check_op_ = 0;           // kWatching: of the timer, then of the get of the predecessor
  OpId delay_op_ = 0;           // of the lock delay, once it has begun
  int32_t record_version_ = 0;  // of the record, once read or written
  OwnWatch own_watch_ = OwnWatch::kNotYet;
  bool delay_over_ = false;
  bool marked_ = false;  // the record names this contender as the holder

  // Of a semaphore's contender only.
  enum class Number : uint8_t { kUnknown, kSame, kUnset, kOther };
  struct Permit {
    OpId number_op = 0;                // get of the path's data
    Number number = Number::kUnknown;  // what it showed
    int32_t path_version = 0;          // kUnset: of the path's data
    zk::Names watched = {};            // full paths, while they may be watched
    OpId first_watch_op = 0;           // kWatching: the main one is the last
    bool behind_waiter = false;        // the one that is watched, also for its data
    bool armed = false;                // ... and that watch is set
    int32_t version = 0;               // of that data, as far as it is known
    bool lets_know = false;            // it is granted, and the next one has to know
    OpId let_know_op = 0;              // set of the own node's data

    friend bool operator==(const Permit&, const Permit&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Permit& p) {
      return H::combine(std::move(h), p.number_op, p.number, p.path_version, p.watched,
                        p.first_watch_op, p.behind_waiter, p.armed, p.version, p.lets_know,
                        p.let_know_op);
    }
  };
  Permit permit_;

  action::Finished end_;  // what to report at kDone; an outcome other than kNone: on the way there

  auto Tie() const {
    return std::tie(candidacy_, state_, connected_, session_, guid_, node_, czxid_, missing_,
                    leases_, in_front_, next_op_, main_op_, list_op_, own_watch_op_, check_op_,
                    own_watch_, delay_op_, delay_over_, record_version_, marked_, permit_, end_);
  }

 public:
  friend bool operator==(const Contender& a, const Contender& b) { return a.Tie() == b.Tie(); }
  template <typename H>
  friend H AbslHashValue(H h, const Contender& c) {
    return H::combine(std::move(h), c.Tie());
  }
};

}  // namespace zkrecipes::queue::machine

#endif  // ZKRECIPES_LIB_QUEUE_MACHINE_CONTENDER_H_

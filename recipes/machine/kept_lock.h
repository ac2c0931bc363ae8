// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_MACHINE_KEPT_LOCK_H_
#define ZKRECIPES_RECIPES_MACHINE_KEPT_LOCK_H_

#include <cstdint>
#include <deque>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/time/time.h"

#include "lib/base/boot_time.h"

namespace zkrecipes::recipes::machine {

// A process's hold on a lock that stays with it, and the threads that wait for it: events in,
// actions out; a copyable value. See docs/adr/0065.
//
//           the first caller         granted          its turn is over, it stays
//   kNone -------------------> kJoining ---------> kHeld --------------------------> kIdle
//     ^                           |                  |  <------ the next caller ------ |
//     | refused, nobody waits     |                  | asked and no more turns, or     | asked,
//     +---------------------------+                  | it does not stay                | quiet
//     +----------------------------------------------+---------------------------------+
//                          the node goes (kLeave), or the lease was lost
//
// A tenure is the time from one grant of the node to its end; a turn, that of one local holder in
// it. Whether other contenders wait is known once a listing with a watch has said so, which is
// asked for only if a tenure may go on beyond its first turn. Until it is answered, or for
// kLookAtMost after it was sent, turns begin freely: a newcomer would not be heard of sooner by a
// watch.
//
// Whether the node stays: another process that wants an idle lock waits twice as long as for a free
// one. So it must have been granted several times with no other contender between, and each
// time that it stayed in vain it must be more often, up to kNeedsAtMost.
class KeptLock {
 public:
  enum class State : uint8_t { kNone, kJoining, kHeld, kIdle };
  // What is known of contenders behind the tenure's node. Once they wait the tenure is to end.
  enum class Others : uint8_t { kNotAsked, kNotKnown, kNone, kWait };
  using Waiter = uint64_t;

  struct Limits {
    int turns = 64;  // once asked
    absl::Duration time = absl::Milliseconds(50);
    friend bool operator==(const Limits&, const Limits&) = default;
  };

  struct Action {
    enum class What : uint8_t {
      kJoin,    // the queue, for a node
      kTry,     // ... if it is free
      kGrant,   // the turn to the waiter
      kRefuse,  // the waiter, with the answer that has just come
      kLook,    // for other contenders, from now on
      kLeave,   // delete the node, and look no more
    };
    What what;
    Waiter waiter = 0;
    friend bool operator==(const Action&, const Action&) = default;
  };
  using Actions = absl::InlinedVector<Action, 2>;

  explicit KeptLock(Limits limits) : limits_(limits) {}

  // Of an idle lock whose lease is believed. False: it is not idle.
  bool TakeIdle();
  // Behind all others. REQUIRES: it is not idle.
  Actions Acquire(Waiter waiter, bool try_only = false);
  // No longer waits; nothing if it does not. True: the join is to be withdrawn, and will be
  // answered all the same.
  bool GiveUp(Waiter waiter);
  // Just before that: false if it is wanted again.
  bool OnWithdraw();
  // `alone`: no other contender has joined since this process did last.
  Actions OnGranted(bool alone);
  // The join was answered without a grant.
  Actions OnRefused();
  // The holder's turn is over. `now`: heeded once others wait.
  Actions OnTurnOver(base::BootTime now);
  // The path has changed. Behind a listing that showed nobody, somebody has come, or a child that
  // is no contender has come or gone: the tenure ends, whoever is there now.
  Actions OnChanged(base::BootTime now);
  // After a listing of the path.
  Actions OnOthers(bool wait, base::BootTime now);
  // It cannot be seen whether others wait, or has not been for kLookAtMost.
  Actions OnBlind(base::BootTime now);
  // The tenure's lease was lost, or its idle lock is not to be taken any more.
  Actions OnEnded();
  // Once in a while: an idle lock in which no turn began since the last time is let go.
  Actions OnQuietCheck();

  State state() const { return state_; }
  Others others() const { return others_; }
  int64_t turn() const { return turn_; }  // of the tenure, from 1
  const std::deque<Waiter>& waiting() const { return waiting_; }
  std::optional<Waiter> trying() const { return trying_; }
  bool has_node() const { return state_ == State::kHeld || state_ == State::kIdle; }
  // So often in a row it must be granted again with no other contender between, to stay.
  int needs() const { return needs_; }
  static constexpr int kNeedsAtFirst = 2;
  static constexpr int kNeedsAtMost = 64;
  static constexpr int kRepays = 8;  // a tenure that was taken idle more often has paid for itself
  static constexpr absl::Duration kLookAtMost = absl::Seconds(1);

  friend bool operator==(const KeptLock&, const KeptLock&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const KeptLock& l) {
    return H::combine(std::move(h), l.limits_.turns, l.limits_.time, l.state_, l.others_,
                      l.waiting_, l.trying_, l.withdrawn_, l.turn_, l.quiet_since_, l.stayed_,
                      l.taken_idle_, l.blind_, l.alone_, l.needs_, l.allowed_.turns,
                      l.allowed_.until);
  }

 private:
  // How much a tenure may go on while others wait.
  struct Allowed {
    int turns = 0;
    base::BootTime until = {};
    friend bool operator==(const Allowed&, const Allowed&) = default;
  };

  void PassOn(Actions& actions);
  bool MayGoOn(base::BootTime now);
  Actions Ask(base::BootTime now);
  void Look(Actions& actions);
  void Join(Actions& actions);
  Actions EndTenure();

  Limits limits_;
  State state_ = State::kNone;
  Others others_ = Others::kNotAsked;
  std::deque<Waiter> waiting_;
  std::optional<Waiter> trying_;  // kJoining: for this one alone
  bool withdrawn_ = false;        // kJoining
  int64_t turn_ = 0;
  int64_t quiet_since_ = 0;  // the turn of the last check that found it idle
  bool stayed_ = false;      // in this tenure
  int taken_idle_ = 0;       // ... so often, up to kRepays + 1
  bool blind_ = false;       // ... others could not be seen
  int alone_ = 0;            // grants in a row with no other contender between
  int needs_ = kNeedsAtFirst;
  Allowed allowed_;
};

}  // namespace zkrecipes::recipes::machine

#endif  // ZKRECIPES_RECIPES_MACHINE_KEPT_LOCK_H_

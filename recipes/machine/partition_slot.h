// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_MACHINE_PARTITION_SLOT_H_
#define ZKRECIPES_RECIPES_MACHINE_PARTITION_SLOT_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"

namespace zkrecipes::recipes::machine {

// One partition in one member: events in, actions out; a copyable value. See docs/adr/0064.
//
//   kIdle --wanted--> kQueued --granted--> kOwned <--(not) wanted--> kSpare --demanded--> kAsked
//     ^                  | not wanted         |                        |                     |
//     |                  v                    +------- lease ended ----+-----> kLost <-------+
//     |             kWithdrawn                |                        |         |           |
//     |                  | granted            +------ work returned ---+---------|-----------+
//     |                  v                    v                                  |
//     +--- left ------ kLeaving <-------------+                                  |
//     +------------------------------------- work returned ----------------------+
//
// If the partition is still wanted, work that returns unasked, a loss and an acquire that was
// refused are followed by a rest (kResting), lest one that is lost at once goes round and round. If
// the partition is wanted when a way round has come back to kIdle, the next one begins at once. A
// partition is asked back only once another contender waits for it: an assignment alone, which may
// be of an old view, takes no work away and leaves no partition idle.
class PartitionSlot {
 public:
  enum class State : uint8_t {
    kIdle,
    kQueued,     // an acquire waits
    kWithdrawn,  // ... and is not wanted any more: its answer is under way
    kOwned,
    kSpare,    // owned, and another member's by the view; nobody waits for it yet
    kAsked,    // owned; its work is to end
    kLost,     // its lease has ended; its work is to end
    kLeaving,  // the release is under way
    kResting,
  };
  enum class Action : uint8_t {
    kAcquire,
    kWithdraw,  // cancel the acquire; the answer comes all the same
    kBegin,     // the work, with the lease that was granted
    kWatch,     // whether another contender waits: OnDemanded
    kUnwatch,
    kAskBack,   // request the end of the work, as asked back, ...
    kAskStop,   // ... as the member stops, ...
    kTellLost,  // ... as its lease is lost
    kRelease,   // the lease; OnLeft once that is done, or given up
    kRest,      // OnRested, after a pause
  };
  using Actions = absl::InlinedVector<Action, 2>;

  // Whether the partition is this member's, by what it sees. Not after Stop.
  Actions SetWanted(bool wanted);
  Actions OnGranted();
  Actions OnRefused();  // also when it was withdrawn
  Actions OnDemanded();
  Actions OnEnded();  // of the lease, but not by its release
  Actions OnReturned();
  Actions OnLeft();
  Actions OnRested();
  // Nothing is wanted any more, and work ends without being demanded.
  Actions Stop();

  State state() const { return state_; }
  bool wanted() const { return wanted_; }
  bool works() const {
    return state_ == State::kOwned || state_ == State::kSpare || state_ == State::kAsked ||
           state_ == State::kLost;
  }
  friend bool operator==(const PartitionSlot&, const PartitionSlot&) = default;

 private:
  Actions GoRound();

  State state_ = State::kIdle;
  bool wanted_ = false;
  bool stopped_ = false;
  bool unasked_ = false;  // kLeaving: the work returned by itself
};

}  // namespace zkrecipes::recipes::machine

#endif  // ZKRECIPES_RECIPES_MACHINE_PARTITION_SLOT_H_

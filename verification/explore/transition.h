// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_EXPLORE_TRANSITION_H_
#define ZKRECIPES_VERIFICATION_EXPLORE_TRANSITION_H_

#include <cstdint>

namespace zkrecipes::explore {

class MachineWorld;

// One thing that can happen in a MachineWorld: what it does is in the table of transitions.cc.
struct Transition {
  enum class Kind : uint8_t {
    // The ordinary course.
    kExecute,
    kDrop,
    kApply,
    kConnect,
    kDeliver,
    kRelease,
    kFollow,
    kRetry,
    kOwnWatch,
    kDelay,
    // Faults. Those up to kGiveUp are the rough ones.
    kBreak,
    kExpire,
    kGiveUp,
    kLapse,
    kElect,
    kReap,
    kOperatorDelete,
  };
  Kind kind = Kind::kConnect;
  uint16_t who = 0;
  uint16_t which = 0;  // kConnect: the server

  // What the holder does when it likes.
  bool IsChoice() const { return kind == Kind::kRelease || kind == Kind::kFollow; }
  bool IsFault() const { return kind >= Kind::kBreak; }
  friend bool operator==(const Transition&, const Transition&) = default;
};

// A line of the table in transitions.cc.
struct TransitionRow {
  enum class Whose { kEnsemble, kServer, kConnection, kClient, kContestant };

  Transition::Kind kind;
  Whose whose;  // what Transition::who counts
  bool local;   // concerns one client and its contestants, but neither servers nor connections
  const char* story;  // # is `who`, % is `which`
  bool (*can)(const MachineWorld& world, const Transition& transition);
  void (*take)(MachineWorld& world, const Transition& transition);
};

}  // namespace zkrecipes::explore

#endif  // ZKRECIPES_VERIFICATION_EXPLORE_TRANSITION_H_

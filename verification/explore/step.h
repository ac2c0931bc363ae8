// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_EXPLORE_STEP_H_
#define ZKRECIPES_VERIFICATION_EXPLORE_STEP_H_

#include <cstdint>
#include <utility>

namespace zkrecipes::explore {

// One thing that happens in a MachineWorld.
struct Step {
  enum class Kind : uint8_t {
    // The ordinary course.
    kConnect,   // client `who` connects to server `which`
    kExecute,   // the server reads the next message of connection `who`
    kApply,     // server `who` applies the next transaction
    kDeliver,   // client `who` reads its next message, or that its connection is gone
    kRetry,     // contestant `who`: its timer
    kOwnWatch,  // contestant `who`: its timer
    kDelay,     // contestant `who`, strict: the lock delay is over
    kRelease,   // contestant `who`, which holds the lock
    kFollow,    // contestant `who` likewise: its upgrade or downgrade begins
    kDrop,      // what client and server of connection `who` have not read of each other is lost
    // Faults.
    kBreak,           // client `who` loses its connection; what it sent may still arrive
    kExpire,          // the session of client `who`
    kOperatorDelete,  // the node of contestant `who`
    kGiveUp,          // contestant `who` does not want to wait any longer
    kLapse,  // nothing proves the session: the lease of contestant `who` cannot be believed
    kElect,  // server `who` becomes the leader
    kReap,   // empty containers
  };
  Kind kind = Kind::kConnect;
  uint16_t who = 0;
  uint16_t which = 0;

  friend bool operator==(const Step&, const Step&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Step& s) {
    return H::combine(std::move(h), s.kind, s.who, s.which);
  }
};

// What the holder does when it likes.
inline bool IsChoice(Step::Kind kind) {
  return kind == Step::Kind::kRelease || kind == Step::Kind::kFollow;
}
inline bool IsFault(Step::Kind kind) { return kind >= Step::Kind::kBreak; }

}  // namespace zkrecipes::explore

#endif  // ZKRECIPES_VERIFICATION_EXPLORE_STEP_H_

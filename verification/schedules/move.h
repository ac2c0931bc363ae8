// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SCHEDULES_MOVE_H_
#define ZKRECIPES_VERIFICATION_SCHEDULES_MOVE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zkrecipes::explore::schedules {

// One thing that happens in a schedule. Named by what it is about and not by what was enabled when
// it was chosen, so that a schedule means something after moves were taken out of it: a move that
// cannot happen does not.
enum class MoveKind {
  // What happens by itself. `who` is a process, unless said otherwise.
  kTask,
  kDeliver,
  kTimer,
  kCallback,       // `which`: of those that wait
  kExecute,        // by the server of the process's connection
  kExecuteOrphan,  // `who`: of the connections that no client has any more
  kCommit,
  kApply,     // `who`: a server
  kCloseDue,  // the leader closes a session whose time is over
  kAdvance,   // to the next deadline

  // What users do. `who` is a slot: one attempt at the lock at a time.
  kAcquire,
  kAcquireBriefly,  // with a timeout
  kTry,
  kCancel,
  kRelease,
  kGoUpOrDown,   // an upgrade or a downgrade of its lease
  kCloseClient,  // `who`: a process. A new client takes over.

  // What goes wrong. `who` is a process, unless said otherwise.
  kBreak,       // the connection breaks
  kDropOrphan,  // `who`: as kExecuteOrphan. What the server has not read is lost
  kExpire,
  kForget,   // as kExpire, and the leader hears nothing of the session from now on
  kTooLate,  // what is on its way to the leader arrives when it is about to end the session
  kNetwork,  // `which`: a Host::Network
  kPause,    // `which`: 1 or 0
  kMoveTo,   // `which`: the only server that can be reached; beyond the last: any
  kRate,     // `which`: thousandths of the rate of the ensemble's clock
  kWait,     // `which`: milliseconds go by in which nobody does anything
  kGoOn,     // `which`: milliseconds in which all that can happen does
  kElect,    // `who`: a server; `which`: proposals that survive
  kCutOff,   // `who`: a server
  kHeal,     // `who`: a server
  kStall,    // `who`: a server; `which`: 1 from the leader, 2 to it, 3 both ways, 0 not any more
  kPingGap,  // `which`: milliseconds between the leader's pings
  kLoseTouches,  // `which`: 1 or 0
  kOperator,     // deletes a node: of the queue, the `which`-th
  kReap,
};

struct Move {
  MoveKind kind = MoveKind::kTask;
  uint32_t who = 0;
  uint32_t which = 0;
  friend bool operator==(const Move&, const Move&) = default;
};

// "deliver:1", "callback:0:2", "commit".
std::string ToString(const Move& move);
std::string ToString(const std::vector<Move>& moves);
// Nothing for a text that ToString does not write.
std::optional<std::vector<Move>> ParseMoves(const std::string& text);

// A sentence for a story.
std::string Describe(const Move& move);

}  // namespace zkrecipes::explore::schedules

#endif  // ZKRECIPES_VERIFICATION_SCHEDULES_MOVE_H_

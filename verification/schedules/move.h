// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SCHEDULES_MOVE_H_
#define ZKRECIPES_VERIFICATION_SCHEDULES_MOVE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zkrecipes::schedules {

// How much goes wrong.
enum class Weather {
  kCalm,       // nothing: every order of what happens by itself
  kRough,      // connections break, clients move between servers, users change their minds
  kStorm,      // everything
  kPartition,  // servers are cut off and elected
  kEdge,       // clocks, pings and links at the edge of what leases assume of them
  kHostile,    // another tenant of the ensemble writes where the lock is, on top of rough weather
  kEveryday,   // the faults that leases outlive (Everyday), and no others
};
inline constexpr std::array<const char*, 7> kWeatherNames = {
    "calm", "rough", "storm", "partition", "edge", "hostile", "everyday"};

// The table of moves.cc says what each of them does, and what its numbers mean.
enum class MoveKind : uint8_t {
  // Happens by itself.
  kTask,
  kDeliver,
  kTimer,
  kCallback,
  kExecute,
  kExecuteOrphan,
  kCommit,
  kApply,
  kCloseDue,
  kAdvance,
  // Users do these.
  kAcquire,
  kAcquireBriefly,
  kTry,
  kCancel,
  kRelease,
  kGoUpOrDown,
  kObserve,
  kProclaim,
  kAbandon,
  kWrite,
  kGiveUpWrite,
  kMember,
  kEndAsked,
  kEndWork,
  kCloseClient,
  kMisbehave,
  kFork,
  // Faults.
  kBreak,
  kDropOrphan,
  kExpire,
  kForget,
  kTooLate,
  kNetwork,
  kPause,
  kMoveTo,
  kRate,
  kWait,
  kGoOn,
  kElect,
  kCutOff,
  kHeal,
  kStall,
  kPingGap,
  kLoseTouches,
  kOperator,
  kReap,
  // Another tenant of the ensemble does these.
  kTenantCreates,
  kTenantDeletes,
  kTenantDenies,
  kTenantAllows,
  kTenantWrites,
  kTenantCrowds,
  // Everyday faults, which leases outlive.
  kStandStill,
  kCrash,
  kMoveAway,
  kDropPackets,
  kLinkStalls,
  kCannotReach,
  kAllStandStill,
  kStepDown,
  kBreakOne,
};

// One thing that happens in a schedule. It is named by what it is about and not by what was
// possible when it was chosen, so that a schedule still means something after moves were taken out
// of it: a move that cannot happen does not.
struct Move {
  MoveKind kind = MoveKind::kTask;
  uint32_t who = 0;
  uint32_t which = 0;
  friend bool operator==(const Move&, const Move&) = default;
};

// "deliver:1 callback:0:2 commit".
std::string ToString(const std::vector<Move>& moves);
// nullopt for a text that ToString does not write.
std::optional<std::vector<Move>> ParseMoves(const std::string& text);
// A sentence for a story.
std::string Describe(const Move& move);

class LockWorld;

// The things that Move::who counts.
enum class Who {
  kNone,     // it is about the ensemble as a whole
  kProcess,  // closing ones included
  kClient,   // processes, each as its latest client
  kOrphan,   // connections that no client has any more
  kServer,
  kSlot,    // one bid for the lock at a time
  kMember,  // one member that shares partitions at a time
};

// A line of the table in moves.cc.
struct MoveRow {
  MoveKind kind;
  const char* name;
  const char* story;  // # is `who`, % is `which`
  Who who;
  void (*make)(LockWorld& world, Move move);
  bool (*can)(LockWorld& world, Move move);  // null: whenever there is such a `who`
  // How often the Chooser makes it when something goes wrong, beside the others: a weight for each
  // Weather. Its `which` is below that, unless the Chooser knows better.
  std::array<uint8_t, kWeatherNames.size()> weights = {};
  uint32_t below = 1;
};
const MoveRow& RowOf(MoveKind kind);
inline constexpr auto kMoveKinds = static_cast<size_t>(MoveKind::kBreakOne) + 1;
inline bool IsFault(MoveKind kind) { return kind >= MoveKind::kBreak; }

}  // namespace zkrecipes::schedules

#endif  // ZKRECIPES_VERIFICATION_SCHEDULES_MOVE_H_

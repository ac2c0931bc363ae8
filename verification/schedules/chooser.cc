// SPDX-License-Identifier: Apache-2.0
//
// A schedule chosen at random.

#include <random>
#include <utility>

#include "verification/schedules/schedule.h"

namespace zkrecipes::schedules {
namespace {

using enum MoveKind;

// In thousandths: at most a tenth off, as the default clock_rate_bound has it.
constexpr uint32_t kSlowest = 910;
constexpr uint32_t kFastest = 1100;

// Of 1000 moves, how many make trouble in each Weather, and how many are users'.
constexpr uint32_t kTrouble[] = {0, 40, 60, 50, 120, 80, 100};
constexpr uint32_t kUsers = 60;
constexpr uint32_t kMembers = 150;  // of partitions
constexpr uint32_t kKeepers = 300;  // of a lock that stays where it is used

bool IsSlow(MoveKind kind) { return kind == kCloseDue || kind == kAdvance; }

// Chooses what to try next in a LockWorld. The same seed chooses the same.
class Chooser {
 public:
  // `world` outlives it.
  Chooser(uint64_t seed, Weather weather, LockWorld& world)
      : random_(seed), weather_(weather), world_(world) {
    for (const MoveRow& row : LockWorld::kMoves) {
      troubles_.insert(troubles_.end(), row.weights[static_cast<size_t>(weather)], row.kind);
    }
    if (weather == Weather::kEdge) ChooseBeginning();
    for (uint32_t i = 0; i < world_.CountOf(Who::kMember); ++i) {
      if (Chance(800)) planned_.push_back({kMember, i});
    }
  }

  // nullopt: no move, this time.
  std::optional<Move> Next() {
    if (!planned_.empty()) {
      const Move move = planned_.back();
      planned_.pop_back();
      return move;
    }
    if (Chance(kTrouble[static_cast<size_t>(weather_)])) return TroubleMove();
    const bool busy = world_.shards() != nullptr || world_.keeps();
    const uint32_t users = world_.keeps() ? kKeepers : busy ? kMembers : kUsers;
    if (Chance(users)) return UsersMove();
    if ((world_.everyday() || busy) && Chance(350)) return Move{kGoOn, 0, AnyWhile()};
    ordinary_.clear();
    world_.ListOrdinary(ordinary_);
    if (ordinary_.empty()) return UsersMove();
    // While something else can happen, time rarely goes on, and sessions that are due rarely end.
    while (ordinary_.size() > 1 && IsSlow(ordinary_.back().kind) && !Chance(30)) {
      ordinary_.pop_back();
    }
    return ordinary_[Below(ordinary_.size())];
  }

 private:
  uint32_t Below(size_t n) { return n == 0 ? 0 : static_cast<uint32_t>(random_() % n); }
  bool Chance(uint32_t of_1000) { return Below(1000) < of_1000; }

  void ChooseBeginning() {
    if (Chance(500)) planned_.push_back({kLoseTouches, 0, 1});
    if (Chance(700)) planned_.push_back({kPingGap, 0, AnyPingGap()});
    for (uint32_t i = 0; i < world_.CountOf(Who::kProcess); ++i) {
      planned_.push_back({kRate, i, AnyRate()});
    }
  }

  uint32_t AnyRate() {
    if (Chance(500)) return Chance(750) ? kSlowest : kFastest;
    return kSlowest + Below(kFastest + 1 - kSlowest);
  }

  uint32_t AnyWait() {
    if (Chance(400)) return 1100 + Below(400);  // about a ping gap
    return 1 + Below(Chance(200) ? 8000 : 1500);
  }

  // Leases with a lock delay assume nothing of it.
  uint32_t AnyPingGap() {
    if (world_.starves()) return 250 + Below(8000);
    return Chance(500) ? 1100 : 250 + Below(851);
  }

  // Of the session timeout, in milliseconds.
  uint32_t Share(double share) {
    return static_cast<uint32_t>(absl::ToInt64Milliseconds(world_.session_timeout() * share));
  }

  uint32_t AnyWhile() { return 1 + Below(Share(Chance(300) ? 1 : 0.2)); }

  uint32_t AnyStall() {
    const auto longest =
        static_cast<uint32_t>(absl::ToInt64Milliseconds(world_.everyday()->longest_stall()));
    return Chance(300) ? longest : 1 + Below(longest);
  }

  uint32_t AnyWhich(const MoveRow& row) {
    switch (row.kind) {
      case kStandStill:
      case kCrash:
      case kMoveAway:
      case kDropPackets:
      case kLinkStalls:
        return Chance(300) ? AnyStall() : 1 + Below(Share(3));
      case kAllStandStill:
      case kStepDown:
        return AnyStall();
      case kCannotReach:
      case kNetwork:
        return Chance(600) ? 0 : Below(4);
      case kMoveTo:
        return Below(world_.CountOf(Who::kServer) + 1);
      case kRate:
        return AnyRate();
      case kWait:
      case kGoOn:
        return AnyWait();
      case kPingGap:
        return AnyPingGap();
      case kOperator:
        return Below(world_.CountOf(Who::kSlot));
      case kTenantCrowds:
        return Chance(50) ? 300 : 1 + Below(20);
      default:
        return Below(row.below);
    }
  }

  std::optional<Move> UsersMove() {
    if (world_.misbehaves() && Chance(200)) return AnyMisdeed();
    if (world_.shards() != nullptr) return MembersMove();
    const uint32_t slot = AnySlot();
    if (world_.Can({kGoUpOrDown, slot}) && Chance(400)) return Move{kGoUpOrDown, slot};
    if (world_.elects() && Chance(200)) {
      return Move{kObserve, Below(world_.CountOf(Who::kClient))};
    }
    if (world_.Can({kAbandon, slot}) && Chance(400)) return Move{kAbandon, slot};
    if (world_.Can({kProclaim, slot}) && Chance(600)) {
      // Two at once, of which the second is given up: the next one may come while it goes on.
      if (Chance(500)) planned_ = {{kAbandon, slot}, {kProclaim, slot}};
      return Move{kProclaim, slot};
    }
    if (world_.Can({kGiveUpWrite, slot}) && Chance(200)) return Move{kGiveUpWrite, slot};
    if (world_.Can({kWrite, slot}) && Chance(700)) {
      // On the heels of a write: another one, or the end of what guards it.
      if (Chance(300)) planned_ = {{Chance(500) ? kWrite : kRelease, slot}};
      return Move{kWrite, slot};
    }
    if (world_.Can({kRelease, slot})) return Move{kRelease, slot};
    if (!world_.Can({kAcquire, slot})) {
      return Chance(100) ? std::optional(Move{kCancel, slot}) : std::nullopt;
    }
    const uint32_t how = Below(8);
    if (how == 0) return Move{kTry, slot};
    return Move{how == 1 ? kAcquireBriefly : kAcquire, slot};
  }

  // A lock stays only where it is mostly one process's.
  uint32_t AnySlot() {
    const uint32_t slot = Below(world_.CountOf(Who::kSlot));
    if (!world_.keeps() || Chance(80)) return slot;
    return slot - slot % static_cast<uint32_t>(world_.CountOf(Who::kClient));
  }

  // Members mostly stay, and mostly end what they are asked to.
  std::optional<Move> MembersMove() {
    if (Chance(100)) return Move{kObserve, Below(world_.CountOf(Who::kClient))};
    const uint32_t slot = Below(world_.CountOf(Who::kMember));
    if (world_.Can({kEndAsked, slot}) && Chance(800)) return Move{kEndAsked, slot};
    if (Chance(100)) return Move{kEndWork, slot, Below(world_.shards()->Works(slot, false))};
    const bool goes = !world_.shards()->IsMember(slot) || Chance(150);
    return goes ? std::optional(Move{kMember, slot}) : std::nullopt;
  }

  // A fork takes as long as many moves, so it is rare.
  Move AnyMisdeed() {
    if (Chance(50)) return {kFork};
    return {kMisbehave, Below(world_.CountOf(Who::kClient)), Below(Chance(300) ? kMisdeeds : 2)};
  }

  // A process is cut off, and its session ends at once: only the lock delay protects what it
  // believes.
  Move Vanish() {
    const uint32_t who = Below(world_.CountOf(Who::kProcess));
    planned_ = {{kGoOn, 0, 1000 + Below(5000)}, {kExpire, who}};
    return {kNetwork, who, static_cast<uint32_t>(testing::memory::Host::Network::kSilent)};
  }

  // The link from the leader stands still for about a ping gap. Then what waited on it comes out at
  // once, and is the last that the process hears of its leader.
  Move StallAndForget() {
    const uint32_t who = Below(world_.CountOf(Who::kProcess));
    planned_ = {{kForget, who}, {kWait, 0, 1100 + Below(400)}};
    return {kStall, static_cast<uint32_t>(world_.ServerOf(who).value_or(0)), 1};
  }

  Move TroubleMove() {
    if (world_.delays() && Chance(200)) return Vanish();
    const MoveRow& row = RowOf(troubles_[Below(troubles_.size())]);
    const bool at_the_edge = weather_ == Weather::kEdge;
    if (row.kind == kStall && at_the_edge && Chance(200)) return StallAndForget();
    return {row.kind, Below(world_.CountOf(row.who)), AnyWhich(row)};
  }

  std::mt19937_64 random_;
  const Weather weather_;
  LockWorld& world_;
  std::vector<MoveKind> troubles_;  // each as often as its weight says
  std::vector<Move> planned_;       // last first
  std::vector<Move> ordinary_;
};

}  // namespace

Schedule RunRandom(const LockWorldOptions& options, int length) {
  LockWorld world(options);
  Chooser chooser(~options.seed, options.weather, world);  // `seed` itself is the simulation's
  std::vector<Move> made;
  made.reserve(static_cast<size_t>(length));
  for (int i = 0; i < length && !world.broken().has_value(); ++i) {
    const std::optional<Move> move = chooser.Next();
    if (move.has_value() && world.Make(*move)) made.push_back(*move);
  }
  world.EndQuietly();
  return {std::move(made), world.broken(), world.grants()};
}

}  // namespace zkrecipes::schedules

// SPDX-License-Identifier: Apache-2.0

#include "verification/schedules/chooser.h"

namespace zkrecipes::schedules {
namespace {

// In thousandths: at most a tenth off, as the default clock_rate_bound has it.
constexpr uint32_t kSlowest = 910;
constexpr uint32_t kFastest = 1100;

// Of 1000 moves, how many make trouble in each Weather, and how many are users'.
constexpr uint32_t kTrouble[] = {0, 40, 60, 50, 120};
constexpr uint32_t kUsers = 60;

bool IsSlow(MoveKind kind) { return kind == MoveKind::kCloseDue || kind == MoveKind::kAdvance; }

}  // namespace

Chooser::Chooser(uint64_t seed, Weather weather, Scene& scene)
    : random_(seed), weather_(weather), scene_(scene) {
  for (const MoveRow& row : Scene::kMoves) {
    troubles_.insert(troubles_.end(), row.weights[static_cast<size_t>(weather)], row.kind);
  }
  if (weather == Weather::kEdge) ChooseBeginning();
}

std::optional<Move> Chooser::Next() {
  if (!planned_.empty()) {
    const Move move = planned_.back();
    planned_.pop_back();
    return move;
  }
  if (Chance(kTrouble[static_cast<size_t>(weather_)])) return TroubleMove();
  if (Chance(kUsers)) return UsersMove();
  ordinary_.clear();
  scene_.ListOrdinary(ordinary_);
  if (ordinary_.empty()) return UsersMove();
  // Time goes on rarely while something else can happen, and so do ends that were decided.
  while (ordinary_.size() > 1 && IsSlow(ordinary_.back().kind) && !Chance(30)) {
    ordinary_.pop_back();
  }
  return ordinary_[Below(ordinary_.size())];
}

void Chooser::ChooseBeginning() {
  if (Chance(500)) planned_.push_back({MoveKind::kLoseTouches, 0, 1});
  if (Chance(700)) planned_.push_back({MoveKind::kPingGap, 0, AnyPingGap()});
  for (uint32_t i = 0; i < scene_.CountOf(Who::kProcess); ++i) {
    planned_.push_back({MoveKind::kRate, i, AnyRate()});
  }
}

uint32_t Chooser::AnyRate() {
  if (Chance(500)) return Chance(750) ? kSlowest : kFastest;
  return kSlowest + Below(kFastest + 1 - kSlowest);
}

uint32_t Chooser::AnyWait() {
  if (Chance(400)) return 1100 + Below(400);  // about a ping gap
  return 1 + Below(Chance(200) ? 8000 : 1500);
}

// Strict leases assume nothing of it.
uint32_t Chooser::AnyPingGap() {
  if (scene_.strict()) return 250 + Below(8000);
  return Chance(500) ? 1100 : 250 + Below(851);
}

uint32_t Chooser::AnyWhich(const MoveRow& row) {
  switch (row.kind) {
    case MoveKind::kNetwork:
      return Chance(600) ? 0 : Below(4);
    case MoveKind::kMoveTo:
      return Below(scene_.CountOf(Who::kServer) + 1);
    case MoveKind::kRate:
      return AnyRate();
    case MoveKind::kWait:
    case MoveKind::kGoOn:
      return AnyWait();
    case MoveKind::kPingGap:
      return AnyPingGap();
    case MoveKind::kOperator:
      return Below(scene_.CountOf(Who::kSlot));
    default:
      return Below(row.below);
  }
}

std::optional<Move> Chooser::UsersMove() {
  const uint32_t slot = Below(scene_.CountOf(Who::kSlot));
  if (scene_.Can({MoveKind::kGoUpOrDown, slot}) && Chance(400)) {
    return Move{MoveKind::kGoUpOrDown, slot};
  }
  if (scene_.Can({MoveKind::kRelease, slot})) return Move{MoveKind::kRelease, slot};
  if (!scene_.Can({MoveKind::kAcquire, slot})) {
    return Chance(100) ? std::optional(Move{MoveKind::kCancel, slot}) : std::nullopt;
  }
  const uint32_t how = Below(8);
  if (how == 0) return Move{MoveKind::kTry, slot};
  return Move{how == 1 ? MoveKind::kAcquireBriefly : MoveKind::kAcquire, slot};
}

// A process is cut off, and its session ends at once: only the lock delay protects what it believes.
Move Chooser::Vanish() {
  const uint32_t who = Below(scene_.CountOf(Who::kProcess));
  planned_ = {{MoveKind::kGoOn, 0, 1000 + Below(5000)}, {MoveKind::kExpire, who}};
  return {MoveKind::kNetwork, who, static_cast<uint32_t>(testing::memory::Host::Network::kSilent)};
}

// The link from the leader stands still for about a ping gap. Then what waited on it comes out at
// once, and is the last that the process hears of its leader.
Move Chooser::StallAndForget() {
  const uint32_t who = Below(scene_.CountOf(Who::kProcess));
  planned_ = {{MoveKind::kForget, who}, {MoveKind::kWait, 0, 1100 + Below(400)}};
  return {MoveKind::kStall, static_cast<uint32_t>(scene_.ServerOf(who).value_or(0)), 1};
}

Move Chooser::TroubleMove() {
  if (scene_.strict() && Chance(200)) return Vanish();
  const MoveRow& row = RowOf(troubles_[Below(troubles_.size())]);
  const bool at_the_edge = weather_ == Weather::kEdge;
  if (row.kind == MoveKind::kStall && at_the_edge && Chance(200)) return StallAndForget();
  return {row.kind, Below(scene_.CountOf(row.who)), AnyWhich(row)};
}

}  // namespace zkrecipes::schedules

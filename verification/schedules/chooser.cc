// SPDX-License-Identifier: Apache-2.0

#include "verification/schedules/chooser.h"

namespace zkrecipes::explore::schedules {

// Of 1000 moves, how many are faults and how many are users'.
struct Climate {
  uint32_t faults;
  uint32_t users;
  std::vector<MoveKind> kinds;  // of faults, each as likely as the others
  uint32_t treacherous = 0;     // of 1000 stalls: see StallAndForget
};

namespace {

// In thousandths: at most a tenth off, as the default clock_rate_bound has it.
constexpr uint32_t kSlowest = 910;
constexpr uint32_t kFastest = 1100;

const Climate& ClimateOf(Weather weather) {
  static const Climate calm{0, 60, {}};
  static const Climate rough{
      40,
      60,
      {MoveKind::kBreak, MoveKind::kBreak, MoveKind::kDropOrphan, MoveKind::kMoveTo,
       MoveKind::kNetwork, MoveKind::kNetwork, MoveKind::kReap}};
  static const Climate storm{
      60,
      60,
      {MoveKind::kBreak, MoveKind::kBreak, MoveKind::kDropOrphan, MoveKind::kMoveTo,
       MoveKind::kNetwork, MoveKind::kNetwork, MoveKind::kExpire, MoveKind::kPause, MoveKind::kWait,
       MoveKind::kRate, MoveKind::kOperator, MoveKind::kReap, MoveKind::kElect,
       MoveKind::kCloseClient, MoveKind::kStall, MoveKind::kPingGap, MoveKind::kLoseTouches}};
  static const Climate partition{
      50,
      60,
      {MoveKind::kCutOff, MoveKind::kHeal, MoveKind::kElect, MoveKind::kElect, MoveKind::kMoveTo,
       MoveKind::kBreak, MoveKind::kWait, MoveKind::kExpire, MoveKind::kRate, MoveKind::kStall,
       MoveKind::kStall, MoveKind::kPingGap, MoveKind::kLoseTouches}};
  static const Climate edge{
      120,
      60,
      {MoveKind::kStall, MoveKind::kStall, MoveKind::kStall, MoveKind::kPingGap,
       MoveKind::kLoseTouches, MoveKind::kWait, MoveKind::kWait, MoveKind::kRate, MoveKind::kForget,
       MoveKind::kForget, MoveKind::kForget, MoveKind::kGoOn, MoveKind::kTooLate},
      200};
  switch (weather) {
    case Weather::kCalm:
      return calm;
    case Weather::kRough:
      return rough;
    case Weather::kStorm:
      return storm;
    case Weather::kPartition:
      return partition;
    case Weather::kEdge:
      break;
  }
  return edge;
}

bool IsSlow(MoveKind kind) { return kind == MoveKind::kCloseDue || kind == MoveKind::kAdvance; }

}  // namespace

Chooser::Chooser(uint64_t seed, Weather weather, Scene& scene)
    : dice_(seed), climate_(ClimateOf(weather)), scene_(scene) {
  if (weather == Weather::kEdge) ChooseBeginning();
}

std::optional<Move> Chooser::Next() {
  if (!planned_.empty()) {
    const Move move = planned_.back();
    planned_.pop_back();
    return move;
  }
  if (!climate_.kinds.empty() && dice_.Chance(climate_.faults)) return Fault();
  if (dice_.Chance(climate_.users)) return UsersMove();
  ordinary_.clear();
  scene_.ListOrdinary(ordinary_);
  if (ordinary_.empty()) return UsersMove();
  // Time goes on rarely while something else can happen, and so do ends that were decided.
  while (ordinary_.size() > 1 && IsSlow(ordinary_.back().kind) && !dice_.Chance(30)) {
    ordinary_.pop_back();
  }
  return ordinary_[dice_.Pick(ordinary_.size())];
}

void Chooser::ChooseBeginning() {
  if (dice_.Chance(500)) planned_.push_back({MoveKind::kLoseTouches, 0, 1});
  if (dice_.Chance(700)) planned_.push_back({MoveKind::kPingGap, 0, AnyPingGap()});
  for (uint32_t i = 0; i < static_cast<uint32_t>(scene_.hosts()); ++i) {
    planned_.push_back({MoveKind::kRate, i, AnyRate()});
  }
}

uint32_t Chooser::AnyRate() {
  if (dice_.Chance(500)) return dice_.Chance(750) ? kSlowest : kFastest;
  return kSlowest + dice_.Pick(kFastest + 1 - kSlowest);
}

uint32_t Chooser::AnyWait() {
  if (dice_.Chance(400)) return 1100 + dice_.Pick(400);  // about a ping gap
  return 1 + dice_.Pick(dice_.Chance(200) ? 8000 : 1500);
}

// Strict leases assume nothing of it.
uint32_t Chooser::AnyPingGap() {
  if (scene_.strict()) return 250 + dice_.Pick(8000);
  return dice_.Chance(500) ? 1100 : 250 + dice_.Pick(851);
}

uint32_t Chooser::AnyServer() { return dice_.Pick(static_cast<size_t>(scene_.servers())); }

Move Chooser::UsersMove() {
  const uint32_t slot = dice_.Pick(static_cast<size_t>(scene_.options().slots));
  const int i = static_cast<int>(slot);
  if (scene_.MayGoUpOrDown(i) && dice_.Chance(400)) return {MoveKind::kGoUpOrDown, slot};
  if (scene_.Holds(i)) return {MoveKind::kRelease, slot};
  if (scene_.Waits(i)) return {dice_.Chance(100) ? MoveKind::kCancel : MoveKind::kTask, slot};
  const uint32_t what = dice_.Pick(8);
  if (what == 0) return {MoveKind::kTry, slot};
  return {what == 1 ? MoveKind::kAcquireBriefly : MoveKind::kAcquire, slot};
}

// A process is cut off, and its session ends at once: what it believes, only the delay protects.
Move Chooser::Vanish(uint32_t who) {
  planned_ = {{MoveKind::kGoOn, 0, 1000 + dice_.Pick(5000)}, {MoveKind::kExpire, who}};
  return {MoveKind::kNetwork, who, static_cast<uint32_t>(testing::memory::Host::Network::kSilent)};
}

// The link from the leader stands still for about a ping gap; what waited on it comes out at once,
// and is the last that the process hears of its leader.
Move Chooser::StallAndForget(uint32_t who) {
  planned_ = {{MoveKind::kForget, who}, {MoveKind::kWait, who, 1100 + dice_.Pick(400)}};
  return {MoveKind::kStall, static_cast<uint32_t>(scene_.ServerOf(who).value_or(0)), 1};
}

Move Chooser::Fault() {
  Move move{climate_.kinds[dice_.Pick(climate_.kinds.size())]};
  move.who = dice_.Pick(static_cast<size_t>(scene_.hosts()));
  if (scene_.strict() && dice_.Chance(200)) return Vanish(move.who);
  switch (move.kind) {
    case MoveKind::kNetwork:
      move.which = dice_.Chance(600) ? 0 : dice_.Pick(4);
      break;
    case MoveKind::kPause:
      move.which = dice_.Pick(2);
      break;
    case MoveKind::kMoveTo:
      move.which = dice_.Pick(static_cast<size_t>(scene_.servers()) + 1);
      break;
    case MoveKind::kRate:
      move.which = AnyRate();
      break;
    case MoveKind::kWait:
    case MoveKind::kGoOn:
      move.which = AnyWait();
      break;
    case MoveKind::kStall:
      if (dice_.Chance(climate_.treacherous)) return StallAndForget(move.who);
      move = {MoveKind::kStall, AnyServer(), dice_.Pick(4)};
      break;
    case MoveKind::kLoseTouches:
      move = {MoveKind::kLoseTouches, 0, dice_.Pick(2)};
      break;
    case MoveKind::kPingGap:
      move = {MoveKind::kPingGap, 0, AnyPingGap()};
      break;
    case MoveKind::kElect:
    case MoveKind::kCutOff:
    case MoveKind::kHeal:
      move.who = AnyServer();
      move.which = move.kind == MoveKind::kElect ? dice_.Pick(3) : 0;
      break;
    case MoveKind::kOperator:
      move = {MoveKind::kOperator, 0, dice_.Pick(static_cast<size_t>(scene_.options().slots))};
      break;
    case MoveKind::kDropOrphan:
      move.who = dice_.Pick(3);
      break;
    case MoveKind::kCloseClient:
      move.who = dice_.Pick(static_cast<size_t>(scene_.options().processes));
      break;
    default:
      break;
  }
  return move;
}

}  // namespace zkrecipes::explore::schedules

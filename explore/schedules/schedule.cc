// SPDX-License-Identifier: Apache-2.0

#include "explore/schedules/schedule.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace zkrecipes::explore::schedules {
namespace {

// SplitMix64: cheap to start.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  uint32_t Pick(size_t n) { return static_cast<uint32_t>(Next() % n); }
  bool Chance(uint32_t of_1000) { return Pick(1000) < of_1000; }

 private:
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t state_;
};

// In thousandths: at most a tenth off, as the default clock_rate_bound has it.
constexpr uint32_t kSlowest = 910;
constexpr uint32_t kFastest = 1100;

// Of 1000 moves, how many are faults and how many are users'.
struct Climate {
  uint32_t faults;
  uint32_t users;
  std::vector<MoveKind> kinds;  // of faults, each as likely as the others
};

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
       MoveKind::kForget, MoveKind::kForget, MoveKind::kGoOn, MoveKind::kTooLate}};
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

class Chooser {
 public:
  Chooser(uint64_t seed, Weather weather, Scene& scene)
      : dice_(seed), climate_(ClimateOf(weather)), scene_(scene) {
    if (weather == Weather::kEdge) ChooseBeginning();
  }

  std::optional<Move> Next() {
    if (!beginning_.empty()) {
      const Move move = beginning_.back();
      beginning_.pop_back();
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

 private:
  void ChooseBeginning() {
    if (dice_.Chance(500)) beginning_.push_back({MoveKind::kLoseTouches, 0, 1});
    if (dice_.Chance(700)) beginning_.push_back({MoveKind::kPingGap, 0, 1100});
    for (uint32_t i = 0; i < static_cast<uint32_t>(scene_.hosts()); ++i) {
      beginning_.push_back({MoveKind::kRate, i, AnyRate()});
    }
  }

  static bool IsSlow(MoveKind kind) {
    return kind == MoveKind::kCloseDue || kind == MoveKind::kAdvance;
  }

  uint32_t AnyRate() {
    if (dice_.Chance(500)) return dice_.Chance(750) ? kSlowest : kFastest;
    return kSlowest + dice_.Pick(kFastest + 1 - kSlowest);
  }

  uint32_t AnyWait() {
    if (dice_.Chance(400)) return 1100 + dice_.Pick(400);  // about a ping gap
    return 1 + dice_.Pick(dice_.Chance(200) ? 8000 : 1500);
  }

  uint32_t AnyServer() { return dice_.Pick(static_cast<size_t>(scene_.servers())); }

  Move UsersMove() {
    const uint32_t slot = dice_.Pick(static_cast<size_t>(scene_.options().slots));
    const int i = static_cast<int>(slot);
    if (scene_.Holds(i)) return {MoveKind::kRelease, slot};
    if (scene_.Waits(i)) return {dice_.Chance(100) ? MoveKind::kCancel : MoveKind::kTask, slot};
    const uint32_t what = dice_.Pick(8);
    if (what == 0) return {MoveKind::kTry, slot};
    return {what == 1 ? MoveKind::kAcquireBriefly : MoveKind::kAcquire, slot};
  }

  Move Fault() {
    Move move{climate_.kinds[dice_.Pick(climate_.kinds.size())]};
    move.who = dice_.Pick(static_cast<size_t>(scene_.hosts()));
    switch (move.kind) {
      case MoveKind::kNetwork:
        move.which = dice_.Chance(600) ? 0 : dice_.Pick(3);
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
        move = {MoveKind::kStall, AnyServer(), dice_.Pick(4)};
        break;
      case MoveKind::kLoseTouches:
        move = {MoveKind::kLoseTouches, 0, dice_.Pick(2)};
        break;
      case MoveKind::kPingGap:
        move = {MoveKind::kPingGap, 0, dice_.Chance(500) ? 1100 : 250 + dice_.Pick(851)};
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

  Dice dice_;
  const Climate& climate_;
  Scene& scene_;
  std::vector<Move> beginning_;  // last first
  std::vector<Move> ordinary_;
};

Outcome Finish(Scene& scene, std::vector<Move> made) {
  if (!scene.violation().has_value()) scene.EndQuietly();
  return {std::move(made), scene.violation(), scene.grants()};
}

bool Breaks(const SceneOptions& options, const std::vector<Move>& moves, Rule rule) {
  const Outcome outcome = Replay(options, moves);
  return outcome.violation.has_value() && outcome.violation->rule == rule;
}

}  // namespace

const char* NameOf(Weather weather) {
  switch (weather) {
    case Weather::kCalm:
      return "calm";
    case Weather::kRough:
      return "rough";
    case Weather::kStorm:
      return "storm";
    case Weather::kPartition:
      return "partition";
    case Weather::kEdge:
      break;
  }
  return "edge";
}

std::optional<Weather> ParseWeather(const std::string& name) {
  for (const Weather weather :
       {Weather::kCalm, Weather::kRough, Weather::kStorm, Weather::kPartition, Weather::kEdge}) {
    if (name == NameOf(weather)) return weather;
  }
  return std::nullopt;
}

SceneOptions OptionsFor(uint64_t seed) {
  Dice dice(seed ^ 0x5eed);
  SceneOptions options;
  options.seed = seed;
  options.processes = 2 + static_cast<int>(dice.Pick(2));
  options.slots = options.processes + static_cast<int>(dice.Pick(2));
  const bool readers =
      seed % 8 == 3 || seed % 8 == 5;  // and writers, in a quarter of the schedules
  for (int i = 0; readers && i < options.slots; ++i) {
    const uint32_t mode = dice.Pick(10);
    options.modes.push_back(mode < 6   ? queue::Mode::kShared
                            : mode < 9 ? queue::Mode::kSharedWriter
                                       : queue::Mode::kExclusive);
  }
  // Where the numbers end.
  if (dice.Chance(20)) {
    options.next_sequence =
        std::numeric_limits<int32_t>::max() - static_cast<int32_t>(dice.Pick(3));
  }
  return options;
}

Outcome RunRandom(const SceneOptions& options, Weather weather, int length) {
  Scene scene(options);
  Chooser chooser(options.seed, weather, scene);
  std::vector<Move> made;
  made.reserve(static_cast<size_t>(length));
  for (int i = 0; i < length && !scene.violation().has_value(); ++i) {
    const std::optional<Move> move = chooser.Next();
    if (move.has_value() && scene.Make(*move)) made.push_back(*move);
  }
  return Finish(scene, std::move(made));
}

Outcome Replay(const SceneOptions& options, const std::vector<Move>& moves) {
  Scene scene(options);
  std::vector<Move> made;
  for (const Move& move : moves) {
    if (scene.violation().has_value()) break;
    if (scene.Make(move)) made.push_back(move);
  }
  return Finish(scene, std::move(made));
}

std::vector<Move> Shrink(const SceneOptions& options, std::vector<Move> moves, Rule rule) {
  for (size_t chunk = std::max<size_t>(moves.size() / 2, 1);;
       chunk = std::max<size_t>(chunk / 2, 1)) {
    bool smaller = false;
    for (size_t at = 0; at < moves.size();) {
      std::vector<Move> fewer = moves;
      const auto begin = fewer.begin() + static_cast<std::ptrdiff_t>(at);
      const auto length = static_cast<std::ptrdiff_t>(std::min(chunk, moves.size() - at));
      fewer.erase(begin, begin + length);
      if (Breaks(options, fewer, rule)) {
        moves = std::move(fewer);
        smaller = true;
      } else {
        at += chunk;
      }
    }
    if (chunk == 1 && !smaller) return moves;
  }
}

std::string Story(const SceneOptions& options, const std::vector<Move>& moves) {
  Scene scene(options);
  std::string story = absl::StrCat(options.processes, " processes, ", options.slots, " slots\n");
  std::string before;
  for (const Move& move : moves) {
    if (!scene.Make(move)) continue;
    absl::StrAppend(&story, "* ", Describe(move), "\n");
    std::string after = scene.Describe();
    if (after != before) absl::StrAppend(&story, after, "\n");
    before = std::move(after);
    if (scene.violation().has_value()) break;
  }
  if (!scene.violation().has_value()) {
    absl::StrAppend(&story, "* faults end, everybody gets a turn, everybody closes\n");
    scene.EndQuietly();
  }
  if (const auto& violation = scene.violation()) {
    absl::StrAppend(&story, "! ", NameOf(violation->rule), ": ", violation->what, "\n");
  }
  return story;
}

}  // namespace zkrecipes::explore::schedules

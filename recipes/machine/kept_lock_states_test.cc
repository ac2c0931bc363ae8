// SPDX-License-Identifier: Apache-2.0
//
// Every state of a KeptLockWorld: every order of what happens, with a few acquires and faults.

#include <deque>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "recipes/machine/kept_lock_world_fixture.h"

namespace zkrecipes::recipes::machine {
namespace {

// Breadth first, so that the story of a violation is a shortest one.
class KeptLockStates : public ::testing::Test {
 protected:
  using Move = KeptLockWorld::Move;

  void Explore(KeptLockWorld::Budget budget) {
    Visit(0, {"", 0}, KeptLockWorld(budget));
    for (; !worlds_.empty() && story_.empty(); worlds_.pop_front()) {
      const size_t from = absl::HashOf(worlds_.front());
      worlds_.front().ForEachNext(
          [&](Move move, KeptLockWorld world) { Visit(from, move, std::move(world)); });
    }
    EXPECT_EQ(story_, "");
  }
  size_t states() const { return from_.size(); }

 private:
  void Visit(size_t from, Move move, KeptLockWorld world) {
    const bool is_new = from_.try_emplace(absl::HashOf(world), from, move).second;
    if (!world.violation().empty() && story_.empty()) {
      story_ = absl::StrCat(StoryOf(from), Told(move), world.violation());
    }
    if (is_new) worlds_.push_back(std::move(world));
  }
  std::string StoryOf(size_t hash) const {
    const auto& [from, move] = from_.at(hash);
    if (from == 0) return "";
    return absl::StrCat(StoryOf(from), Told(move));
  }
  static std::string Told(Move move) {
    return absl::StrCat("process ", move.process, " ", move.what, "\n");
  }

  absl::flat_hash_map<size_t, std::pair<size_t, Move>> from_;  // which state, by which move
  std::deque<KeptLockWorld> worlds_;                           // whose moves are to be tried
  std::string story_;
};

TEST_F(KeptLockStates, KeepEveryRuleOverManyTurns) {
  Explore({.acquires = 4});
  EXPECT_GT(states(), 50'000u);
}

TEST_F(KeptLockStates, KeepEveryRuleHoweverLateItIs) {
  Explore({.acquires = 2, .tries = 1, .jumps = 2});
  EXPECT_GT(states(), 50'000u);
}

TEST_F(KeptLockStates, KeepEveryRuleWhenALeaseIsLostOrAJoinFails) {
  Explore({.acquires = 2, .tries = 1, .faults = 1});
  EXPECT_GT(states(), 50'000u);
}

}  // namespace
}  // namespace zkrecipes::recipes::machine

// SPDX-License-Identifier: Apache-2.0
//
// Many contenders, sessions and faults in random order: mutual exclusion and FIFO in the tree's
// order, no orphan, no watch left, and everybody who waits gets a turn. A failing seed is printed,
// and fails again.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/queue/contender_script.h"
#include "lib/queue/model_world.h"

namespace zkrecipes::queue {
namespace {

using State = Contender::State;

struct Ratio {
  uint32_t of_1000;
};

// How likely a step is to be each of these; the rest of the time something ordinary happens.
struct Weather {
  Ratio drop, expire, replace, throttle, give_up, operator_deletes, lapse, reap;
};

constexpr Weather kCalm = {{0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}};
constexpr Weather kRough = {{40}, {0}, {0}, {20}, {10}, {0}, {0}, {5}};
constexpr Weather kStorm = {{60}, {15}, {8}, {20}, {15}, {8}, {8}, {5}};

class Schedule {
 public:
  Schedule(uint64_t seed, const Weather& weather, const std::vector<Mode>& modes)
      : random_(seed), weather_(weather) {
    const int clients = 1 + static_cast<int>(Pick(3));
    for (int i = 0; i < clients; ++i) world_.AddClient();
    for (const Mode mode : modes) Enter(mode);
  }

  void Run(int steps) {
    for (int i = 0; i < steps; ++i) Step();
    world_.EndQuietly();
    for (int i = 0; i < world_.contestants(); ++i) ExpectATurn(i);
  }

 private:
  uint64_t Pick(uint64_t n) { return random_() % n; }
  bool Happens(Ratio ratio) { return Pick(1000) < ratio.of_1000; }

  void Enter(Mode mode) {
    ContenderSpec spec = At("/locks/q");
    spec.mode = mode;
    spec.try_only = Pick(8) == 0;
    spec.dialect = Pick(4) == 0 && mode == Mode::kExclusive ? Dialect::kKazoo : Dialect::kCurator;
    world_.Enter(static_cast<int>(Pick(world_.clients())), spec);
    excused_.push_back(spec.try_only);
  }

  void Step() {
    const int client = static_cast<int>(Pick(world_.clients()));
    const int contestant = static_cast<int>(Pick(world_.contestants()));
    if (Misfortune(client, contestant)) return;
    switch (Pick(8)) {
      case 0:
        return (void)world_.Reconnect(client);
      case 1:
        return (void)world_.Retry(contestant);
      case 2:
        return (void)world_.WatchOwnNode(contestant);
      case 3:
        return (void)(Holds(contestant) && world_.Leave(contestant));
      case 4:
        return (void)world_.ApplyLate(client);
      case 5:
      case 6:
        return (void)world_.Deliver(client);
      default:
        return (void)world_.Execute(client);
    }
  }

  bool Misfortune(int client, int contestant) {
    const size_t on_their_way = world_.on_their_way(client);
    if (Happens(weather_.drop)) {
      return world_.Drop(client, Pick(on_their_way + 1), Pick(on_their_way + 1));
    }
    if (Happens(weather_.expire)) return world_.Expire(client);
    if (Happens(weather_.replace)) return world_.ReplaceSession(client);
    if (Happens(weather_.throttle)) return world_.Throttle(client);
    if (Happens(weather_.lapse)) return world_.Lapse(contestant);
    if (Happens(weather_.reap)) world_.Reap();
    if (Happens(weather_.give_up) && !Holds(contestant)) {
      excused_[contestant] = true;
      return world_.Leave(contestant);
    }
    if (Happens(weather_.operator_deletes) && world_.DeleteNode(contestant)) {
      excused_[contestant] = true;
      return true;
    }
    return false;
  }

  bool Holds(int contestant) {
    return world_.contestant(contestant).machine.state() == State::kHeld;
  }

  void ExpectATurn(int contestant) {
    const ModelWorld::Contestant& c = world_.contestant(contestant);
    EXPECT_TRUE(c.granted || excused_[contestant]) << "contestant " << contestant;
    EXPECT_TRUE(c.outcome != Outcome::kNodeDeleted || excused_[contestant]) << "nobody deleted it";
  }

  std::mt19937_64 random_;
  const Weather weather_;
  ModelWorld world_;
  std::vector<bool> excused_;  // from getting a turn: gave up, only tried, or its node was deleted
};

void RunSchedules(int how_many, const Weather& weather, const std::vector<Mode>& modes) {
  for (int seed = 1; seed <= how_many; ++seed) {
    Schedule(seed, weather, modes).Run(120);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

const std::vector<Mode> kLocks(4, Mode::kExclusive);
const std::vector<Mode> kReadersAndWriters = {Mode::kShared, Mode::kSharedWriter, Mode::kShared,
                                              Mode::kSharedWriter, Mode::kShared};

TEST(ContenderRandom, SharesALockInCalmWeather) { RunSchedules(1000, kCalm, kLocks); }
TEST(ContenderRandom, SharesALockOverBadConnections) { RunSchedules(2000, kRough, kLocks); }
TEST(ContenderRandom, SharesALockWhateverHappens) { RunSchedules(4000, kStorm, kLocks); }
TEST(ContenderRandom, SharesAReadWriteLockWhateverHappens) {
  RunSchedules(2000, kStorm, kReadersAndWriters);
}

TEST(ContenderRandom, WakesOneOfTwoHundredWaitersForEachRelease) {
  constexpr int kWaiters = 200;
  ModelWorld world;
  for (int i = 0; i < kWaiters; ++i) {
    world.Enter(world.AddClient(), Lock());
    world.Settle();
  }
  for (int i = 0; i + 1 < kWaiters; ++i) {
    world.Leave(i);
    world.Settle();
    int woken = 0;
    for (int j = 0; j < kWaiters; ++j) woken += world.contestant(j).woken;
    ASSERT_EQ(woken, i + 1);
    ASSERT_EQ(world.contestant(i + 1).machine.state(), State::kHeld);
  }
  world.EndQuietly();
}

}  // namespace
}  // namespace zkrecipes::queue

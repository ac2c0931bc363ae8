// SPDX-License-Identifier: Apache-2.0
//
// Every fault in every state, and any two faults at any two steps. What must hold is in
// model_world.h: never granted wrongly, finished once and last, and quiet in the end.

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "lib/queue/contender_stage.h"
#include "lib/queue/model_world.h"

namespace zkrecipes::queue {
namespace {

using State = Contender::State;

constexpr size_t kAll = 99;

// ---- the faults --------------------------------------------------------------------------------

struct Fault {
  const char* name;
  void (*strike)(Stage&);
};

constexpr Fault kFaults[] = {
    {"Disconnected", [](Stage& s) { s.world.Drop(kMe); }},
    {"DisconnectedAfterItWasExecuted", [](Stage& s) { s.world.Drop(kMe, kAll); }},
    {"DisconnectedBeforeItIsExecuted", [](Stage& s) { s.world.Drop(kMe, 0, kAll); }},
    {"DisconnectedTwice",
     [](Stage& s) {
       s.world.Drop(kMe, 0, kAll);
       s.world.Reconnect(kMe);
       s.world.Drop(kMe, kAll);
     }},
    {"SessionLost",
     [](Stage& s) {
       s.world.Drop(kMe, kAll);
       s.world.Expire(kMe);
       s.world.Reconnect(kMe);
     }},
    {"SessionExpiredUnheard", [](Stage& s) { s.world.Expire(kMe); }},
    {"OtherSession", [](Stage& s) { s.world.ReplaceSession(kMe); }},
    {"Leave", [](Stage& s) { s.world.Leave(s.me); }},
    {"Lapsed", [](Stage& s) { s.world.Lapse(s.me); }},
    {"NodeDeleted", [](Stage& s) { s.world.DeleteNode(s.me); }},
    {"Throttled", [](Stage& s) { s.world.Throttle(kMe); }},
    {"StaleReplies", [](Stage& s) { s.world.StaleReplies(s.me); }},
    {"OwnWatchDue", [](Stage& s) { s.world.WatchOwnNode(s.me); }},
    {"ParentReaped",
     [](Stage& s) {
       s.world.DeleteNode(s.me);
       s.world.DeleteNode(s.other);
       s.world.Reap();
     }},
};

class Sweep : public testing::TestWithParam<Situation> {};

void Strike(const Situation& situation, const Fault& fault, bool own_watch, bool settle) {
  SCOPED_TRACE(absl::StrCat(fault.name, own_watch ? ", its own watch in flight" : "",
                            settle ? ", settled" : ", left at once"));
  Stage s = situation.reach();
  ASSERT_EQ(s.world.contestant(s.me).machine.state(), situation.state);
  if (own_watch) s.world.WatchOwnNode(s.me);
  fault.strike(s);
  if (settle) s.world.Settle();
  s.world.StaleReplies(s.me);
  s.world.Leave(s.me);
  s.world.EndQuietly();
}

TEST_P(Sweep, EndsQuietWhateverStrikes) {
  for (const Fault& fault : kFaults) {
    for (const bool own_watch : {false, true}) {
      for (const bool settle : {false, true}) Strike(GetParam(), fault, own_watch, settle);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Contender, Sweep, testing::ValuesIn(Situations()),
                         [](const auto& situation) { return situation.param.name; });

// ---- any two faults at any two steps -----------------------------------------------------------

// The next step of a world in which nothing goes wrong. False: nothing is left to do.
bool Tick(Stage& s) {
  ModelWorld& w = s.world;
  for (const int client : {kMe, kOther}) {
    if (w.ApplyLate(client) || w.Reconnect(client) || w.Deliver(client) || w.Execute(client)) {
      return true;
    }
    if (w.connected(client) && !w.SessionIsAlive(client)) return w.Drop(client);
  }
  if (w.Retry(s.me) || w.WatchOwnNode(s.me)) return true;
  const bool holds = w.contestant(s.me).machine.state() == State::kHeld;
  return w.Leave(s.other) || (holds && w.Leave(s.me));
}

int Ticks(Stage s) {
  int ticks = 0;
  while (Tick(s)) ++ticks;
  return ticks;
}

void TryAnyTwoFaults(Stage (*begin)()) {
  const int ticks = Ticks(begin());
  ASSERT_GT(ticks, 5);
  for (const Fault& first : kFaults) {
    Stage before = begin();
    for (int i = 0; i < ticks; ++i) {
      Stage once = before;
      first.strike(once);
      for (const Fault& second : kFaults) {
        Stage between = once;
        for (int j = i; j < ticks + 3; ++j) {
          Stage twice = between;
          second.strike(twice);
          twice.world.EndQuietly();
          ASSERT_FALSE(testing::Test::HasFailure())
              << first.name << " before step " << i << ", " << second.name << " before " << j;
          Tick(between);
        }
      }
      Tick(before);
    }
  }
}

TEST(ContenderSweep, SurvivesAnyTwoFaultsOnAFreeLock) { TryAnyTwoFaults(Outside); }
TEST(ContenderSweep, SurvivesAnyTwoFaultsInTheQueue) { TryAnyTwoFaults(WatchInFlight); }
TEST(ContenderSweep, SurvivesAnyTwoFaultsWhileItMakesItsParents) { TryAnyTwoFaults(MakingParents); }
TEST(ContenderSweep, SurvivesAnyTwoFaultsWhileItTries) { TryAnyTwoFaults(Probing); }

}  // namespace
}  // namespace zkrecipes::queue

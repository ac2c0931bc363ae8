// SPDX-License-Identifier: Apache-2.0
//
// How often a GroupView looks.

#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "lib/queue/machine/group_view.h"
#include "lib/queue/machine/group_view_fixture.h"

namespace zkrecipes::queue::machine::grouping {
namespace {

using zk::WatchEvent;

TEST(GroupPauses, GrowWithTheGroup) {
  EXPECT_EQ(MostPause(0), absl::Milliseconds(100));
  EXPECT_EQ(MostPause(100), absl::Seconds(2));
  EXPECT_EQ(MostPause(100000), absl::Seconds(4));
}

// Looks of one watcher while the members restart one after another, one a second, each away for
// half of it. Answers take no time, and each pause three quarters of the longest.
int LooksOfARollingRestart(int members) {
  const absl::Duration away = absl::Milliseconds(500);
  GroupView view("/g");
  absl::Duration now;
  std::vector<int> nodes;
  for (int i = 1; i <= members; ++i) nodes.push_back(i);
  int next = members;
  int looks = 0;
  OpId watch = 0;
  OpId pause = 0;
  absl::Duration pause_over = absl::InfiniteDuration();
  const auto on = [&](auto& self, const Event& event) -> void {
    for (const Action& action : view.On(event)) {
      if (const auto* watching = std::get_if<action::Watch>(&action)) {
        ++looks;
        watch = watching->op;
        zk::Names names;
        for (const int node : nodes) names.push_back(Member(node));
        self(self, event::Replied{watch, {.children = std::move(names)}});
      }
      if (const auto* send = std::get_if<action::Send>(&action)) {
        self(self, event::Replied{send->op, {.data = "x"}});
      }
      if (const auto* started = std::get_if<action::StartPause>(&action)) {
        pause = started->op;
        pause_over = now + started->longest * 0.75;
      }
    }
  };
  on(on, event::Connected{});
  looks = 0;
  for (int change = 0; change < 2 * members; ++change) {
    const absl::Duration then = absl::Seconds(10) + away * double(change);
    while (pause_over <= then) {
      now = std::exchange(pause_over, absl::InfiniteDuration());
      on(on, event::PauseOver{pause});
    }
    now = then;
    change % 2 == 0 ? void(nodes.erase(nodes.begin())) : nodes.push_back(++next);
    on(on, event::Fired{watch, WatchEvent::kChanged});
  }
  return looks;
}

TEST(GroupPauses, BoundTheLooksOfARollingRestart) {
  EXPECT_LE(LooksOfARollingRestart(10), 20);
  EXPECT_LE(LooksOfARollingRestart(100), 75);    // of 200 changes
  EXPECT_LE(LooksOfARollingRestart(1000), 345);  // of 2,000
}

}  // namespace
}  // namespace zkrecipes::queue::machine::grouping

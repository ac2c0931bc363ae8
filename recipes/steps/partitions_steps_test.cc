// SPDX-License-Identifier: Apache-2.0
//
// Partitions in any order of events.

#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include "recipes/partitions/fixture.h"
#include "testing/rounds.h"

namespace zkrecipes::testing::memory {
namespace {

// Whatever comes when: no partition has two owners, and once it is calm each has one.
TEST_F(PartitionsTest, KeepTheirPromisesInAnyOrderOfEvents) {
  for (unsigned seed = 0; seed < Rounds(30); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    members_.clear();
    for (int i = 0; i < 4; ++i)
      Start(absl::StrCat("first-", i), {.first_wait = absl::Milliseconds(50)});
    for (int step = 0; step < 1500; ++step) {
      const size_t which = random() % members_.size();
      MemberUser& member = *members_[which];
      switch (random() % 80) {
        case 0:
          if (random() % 4 == 0) member.running.reset();
          break;
        case 1:
          if (!member.running)
            member.Begin(Names(), {.id = absl::StrCat(which, "-", random() % 3)});
          break;
        case 2:
          if (random() % 4 == 0) member.host->BreakConnections();
          break;
        case 3:
          member.host->set_network(random() % 3 == 0 ? Host::Network::kDown : Host::Network::kUp);
          break;
        case 4:
          if (random() % 8 == 0) member.host->set_paused(true);
          break;
        case 5:
          member.host->set_paused(false);
          break;
        case 6:
          if (random() % 4 == 0 && !member.owned.empty()) member.owned.erase(member.owned.begin());
          break;
        case 7:
        case 8:
        case 9:
          member.EndWhatIsAsked();
          break;
        default:
          RunAnyStep(random);
      }
      Check();
    }
    for (size_t i = 0; i < members_.size(); ++i) {
      members_[i]->host->set_network(Host::Network::kUp);
      members_[i]->host->set_paused(false);
      if (!members_[i]->running) members_[i]->Begin(Names(), {.id = absl::StrCat("late-", i)});
    }
    Step(absl::Seconds(40));
    EXPECT_EQ(believed_, size_t{kCount});
    int waited_for = 0;
    for (const auto& member : members_) waited_for += member->report.waited_for;
    EXPECT_EQ(waited_for, 0);
    for (const auto& member : members_) member->running.reset();
    Step(absl::Seconds(3));
    EXPECT_EQ(believed_, 0u);
    members_.clear();
    Step(absl::Minutes(1));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace zkrecipes::testing::memory

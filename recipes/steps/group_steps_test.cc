// SPDX-License-Identifier: Apache-2.0
//
// A group whatever step is lost, and in any order of events.

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "recipes/group_fixture.h"
#include "testing/rounds.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using MemberState = Membership::State;

TEST_F(GroupTest, AWatcherIsToldTheLatestWhateverStepIsLost) {
  const auto watching = Start();
  const auto a = Start();
  const std::vector<Fault> faults = {
      [&] { watching->host->BreakConnections(); },
      [&] { LoseConnectionAndRequests(simulation_, *watching->host); },
      [&] { model().Expire(watching->client->session_id(), simulation_.now()); },
  };
  for (const Fault& fault : faults) {
    fault_ = fault;
    ForEveryStep([&] {
      watching->told.clear();
      watching->Watch();
      Settle();
      a->Join();
      Settle();
      PassTime(absl::Seconds(3));
      Settle();
      EXPECT_THAT(watching->seen(), ElementsAre("a"));
      a->joined.reset();
      Settle();
      PassTime(absl::Seconds(3));
      EXPECT_THAT(watching->seen(), IsEmpty());
      watching->watch.reset();
      Settle();
    });
  }
  ExpectNothingLeft();
}

TEST_F(GroupTest, AJoinMakesOneNodeWhateverStepIsLost) {
  const auto a = Start();
  const std::vector<Fault> faults = {
      [&] { a->host->BreakConnections(); },
      [&] { LoseConnectionAndRequests(simulation_, *a->host); },
      [&] { model().Expire(a->client->session_id(), simulation_.now()); },
  };
  for (const Fault& fault : faults) {
    fault_ = fault;
    ForEveryStep([&] {
      a->joined.reset();
      PassTime(absl::Seconds(2));
      EXPECT_THAT(Queue(), IsEmpty());
      a->Join();
      Settle();
      PassTime(absl::Seconds(8));
      ASSERT_TRUE(a->joined.has_value());
      EXPECT_EQ(a->state(), MemberState::kMember);
      EXPECT_THAT(Queue(), ::testing::SizeIs(1));
    });
  }
}

// No view lacks a member that believes to be one, none shows one twice; once it is calm each
// watcher has seen what there is, and each member is one.
TEST_F(GroupTest, KeepsItsPromisesInAnyOrderOfEvents) {
  for (unsigned seed = 0; seed < Rounds(100); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<std::unique_ptr<GroupUser>> users;
    for (int i = 0; i < 5; ++i) {
      users.push_back(Start());
      users.back()->Watch();
    }
    // Since when it believes without a break.
    std::vector<std::optional<base::BootTime>> since(users.size());
    for (int step = 0; step < 2500; ++step) {
      const size_t at = random() % users.size();
      GroupUser& user = *users[at];
      switch (random() % 60) {
        case 0:
        case 1:
          if (user.answers == (user.joined ? 1 : 0) && !user.joined) {
            user.answers = -1;
            user.group().JoinAsync({.id = absl::StrCat(at)}, {}, [&user](auto got) {
              user.answers = 0;
              user.joined.emplace(std::move(got));
            });
          }
          break;
        case 2:
          if (random() % 3 == 0) user.joined.reset();
          break;
        case 3:
          if (random() % 8 == 0) user.host->BreakConnections();
          break;
        case 4:
          if (random() % 8 == 0)
            user.host->set_network(random() % 3 == 0 ? Host::Network::kDown : Host::Network::kUp);
          break;
        default:
          RunAnyStep(random);
      }
      // The nodes are what a watcher may be told of at any moment from now on.
      for (size_t i = 0; i < users.size(); ++i) {
        if (!users[i]->believes()) continue;
        const std::string node = [&] {
          for (const std::string& name : Queue()) {
            const Node* found = model().committed().Find(absl::StrCat(kPath, "/", name));
            if (found->czxid == users[i]->membership().token()->value()) return name;
          }
          return std::string();
        }();
        ASSERT_NE(node, "") << i;
      }
    }
    for (const auto& user : users) user->host->set_network(Host::Network::kUp);
    PassTime(absl::Seconds(25));
    std::vector<std::string> members;
    for (size_t i = 0; i < users.size(); ++i) {
      if (!users[i]->joined) continue;
      EXPECT_EQ(users[i]->state(), MemberState::kMember) << i;
      members.push_back(absl::StrCat(i));
    }
    for (const auto& user : users) EXPECT_EQ(user->seen(), members);
    EXPECT_EQ(Queue().size(), members.size());
    users.clear();
    ExpectNothingLeft();
  }
}

}  // namespace
}  // namespace zkrecipes::testing::memory

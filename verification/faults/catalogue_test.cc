// SPDX-License-Identifier: Apache-2.0

#include "verification/faults/catalogue.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "integration/servers/network_fixture.h"
#include "verification/faults/faults_fixture.h"

namespace zkrecipes::faults {
namespace {

using servers::Hears;
using servers::Post;
using ::testing::ElementsAre;

// How a fault looks while it goes on: what was hit (a member or a client; -1: several), and which
// member led before.
struct Sight {
  std::string fault;
  void (*look)(int target, int leader);
};

class CatalogueTest : public FaultsTest, public ::testing::WithParamInterface<Sight> {
 public:
  static std::vector<Sight> Sights();

 private:
  static std::vector<Sight> OfServers();
  static std::vector<Sight> OfTheirNetwork();
  static std::vector<Sight> OfClientsNetwork();
  static std::vector<Sight> OfDisks();

  static bool MemberHears(int to, int from) {
    return Hears(servers().host(to), servers().host(from));
  }
  static bool HearsClient(int member, int client) {
    return Hears(servers().host(member), clients().host(client));
  }
  static bool ClientHears(int client, int member) {
    return Hears(clients().host(client), servers().host(member));
  }
  static void ExpectDown(int target) { EXPECT_FALSE(Runs(target)); }
  static void ExpectANewLeader(int target, int leader) {
    EXPECT_EQ(target, leader);
    EXPECT_TRUE(Writes(AwaitNewLeader(leader)));
  }
  static void ExpectTheLeaderGoesOn(int target, int leader) {
    ExpectDown(target);
    EXPECT_EQ(LeaderNow(), leader);
    EXPECT_TRUE(Writes(leader));
  }
  // Of the two clients the one that is hit, and not the other.
  static void ExpectClient(int client, bool hears, bool is_heard) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(ClientHears(client, i), hears);
      EXPECT_EQ(HearsClient(i, client), is_heard);
    }
    EXPECT_TRUE(ClientHears(1 - client, 0));
  }
  static bool LogSays(int member, const std::string& text) {
    return LogOf(member).find(text) != std::string::npos;
  }
};

std::vector<Sight> CatalogueTest::OfServers() {
  return {
      {"kill_follower", ExpectTheLeaderGoesOn},
      {"kill_leader",
       [](int target, int leader) {
         ExpectDown(target);
         ExpectANewLeader(target, leader);
       }},
      {"stop_leader",
       [](int target, int leader) {
         ExpectDown(target);
         ExpectANewLeader(target, leader);
       }},
      {"pause_follower", ExpectTheLeaderGoesOn},
      {"pause_leader", ExpectANewLeader},
      {"wipe_follower",
       [](int target, int) {
         ExpectDown(target);
         if (local() == nullptr) return;
         EXPECT_TRUE(std::filesystem::exists(DirectoryOf(target) + "/data/myid"));
         EXPECT_FALSE(std::filesystem::exists(DirectoryOf(target) + "/data/version-2"));
         EXPECT_FALSE(std::filesystem::exists(DirectoryOf(target) + "/disk/version-2"));
       }},
      {"rolling_restart",
       [](int, int) {
         for (int i = 0; i < 3; ++i) EXPECT_LT(Uptime(i), base::BootNow() - begun());
       }},
      {"lose_quorum",
       [](int, int) {
         EXPECT_EQ(Running(), 1);
         EXPECT_EQ(LeaderNow(), -1);
         for (int i = 0; i < 3; ++i) EXPECT_FALSE(Runs(i) && Writes(i));
       }},
      {"pause_quorum",
       [](int, int) {
         EXPECT_EQ(Running(), 1);
         EXPECT_EQ(LeaderNow(), -1);
       }},
      {"kill_all", [](int, int) { EXPECT_EQ(Running(), 0); }},
  };
}

std::vector<Sight> CatalogueTest::OfTheirNetwork() {
  return {
      {"partition_follower",
       [](int target, int leader) {
         EXPECT_NE(target, leader);
         for (int i = 0; i < 3; ++i) {
           if (i == target) continue;
           EXPECT_FALSE(MemberHears(i, target));
           EXPECT_FALSE(MemberHears(target, i));
         }
         EXPECT_TRUE(HearsClient(target, 0));
         EXPECT_TRUE(Writes(leader));
       }},
      {"partition_leader",
       [](int target, int leader) {
         EXPECT_TRUE(HearsClient(target, 0));
         ExpectANewLeader(target, leader);
       }},
      {"isolate_leader",
       [](int target, int leader) {
         EXPECT_FALSE(HearsClient(target, 1));
         EXPECT_FALSE(ClientHears(1, target));
         ExpectANewLeader(target, leader);
       }},
      {"leader_deaf",
       [](int target, int leader) {
         EXPECT_FALSE(MemberHears(leader, (leader + 1) % 3));
         EXPECT_TRUE(MemberHears((leader + 1) % 3, leader));
         ExpectANewLeader(target, leader);
       }},
      {"leader_mute",
       [](int target, int leader) {
         EXPECT_TRUE(MemberHears(leader, (leader + 1) % 3));
         EXPECT_FALSE(MemberHears((leader + 1) % 3, leader));
         ExpectANewLeader(target, leader);
       }},
      {"cut_link",
       [](int target, int leader) {
         const int one = (leader + 1) % 3;
         const int other = (leader + 2) % 3;
         EXPECT_EQ(target, leader);
         EXPECT_EQ(MemberHears(one, leader) + MemberHears(other, leader), 1);
         EXPECT_TRUE(MemberHears(one, other));
       }},
      {"lossy_members",
       [](int, int) {
         const int arrived = Post(servers().host(0)).Send(200, Post(servers().host(1)));
         EXPECT_GT(arrived, 120);
         EXPECT_LT(arrived, 190);
         EXPECT_EQ(Post(servers().host(0)).Send(50, Post(clients().host(1))), 50);
       }},
      {"slow_members",
       [](int, int) {
         EXPECT_GE(AnswerTime(servers().host(0), 1, "ruok"), absl::Milliseconds(200));
         EXPECT_GE(AnswerTime(servers().host(1), 0, "ruok"), absl::Milliseconds(200));
         EXPECT_TRUE(Eventually([] { return Writes(0); }));
       }},
  };
}

std::vector<Sight> CatalogueTest::OfClientsNetwork() {
  return {
      {"partition_client", [](int client, int) { ExpectClient(client, false, false); }},
      {"expire_client",
       [](int client, int) {
         EXPECT_GE(base::BootNow() - begun(), clients().session_timeout() * 1.5);
         EXPECT_FALSE(HearsClient(0, client));
       }},
      {"client_deaf", [](int client, int) { ExpectClient(client, false, true); }},
      {"client_mute", [](int client, int) { ExpectClient(client, true, false); }},
      {"lossy_client",
       [](int client, int) {
         const int arrived = Post(clients().host(client)).Send(200, Post(servers().host(2)));
         EXPECT_GT(arrived, 90);
         EXPECT_LT(arrived, 180);
       }},
      {"slow_client",
       [](int client, int) {
         EXPECT_GE(AnswerTime(clients().host(client), 0, "ruok"), absl::Milliseconds(400));
       }},
      {"narrow_client",
       [](int client, int) {
         EXPECT_GE(AnswerTime(clients().host(client), 0, "envi"),  // of some 700 bytes
                   absl::Milliseconds(250));
       }},
  };
}

std::vector<Sight> CatalogueTest::OfDisks() {
  return {
      {"disk_full",
       [](int target, int) {
         EXPECT_TRUE(Eventually([target] {
           Writes((target + 1) % 3);
           return LogSays(target, "No space left on device");
         }));
       }},
      {"slow_fsync",
       [](int target, int) {
         ASSERT_TRUE(Writes((target + 1) % 3));
         EXPECT_TRUE(
             Eventually([target] { return LogSays(target, "fsync-ing the write ahead log"); }));
       }},
      {"slow_fsync_all",
       [](int, int) {
         const base::BootTime begin = base::BootNow();
         ASSERT_TRUE(Writes(0));
         EXPECT_GE(base::BootNow() - begin, absl::Milliseconds(400));
       }},
  };
}

std::vector<Sight> CatalogueTest::Sights() {
  std::vector<Sight> all;
  for (auto* part : {OfServers, OfTheirNetwork, OfClientsNetwork, OfDisks}) {
    for (const Sight& sight : part()) all.push_back(sight);
  }
  return all;
}

TEST_P(CatalogueTest, TheFaultDoesWhatItSaysAndIsMended) {
  const int leader = AwaitNewLeader(-1);
  Do(GetParam().fault, [&](int target) { GetParam().look(target, leader); });
}

INSTANTIATE_TEST_SUITE_P(Faults, CatalogueTest, ::testing::ValuesIn(CatalogueTest::Sights()),
                         [](const auto& row) { return row.param.fault; });

struct Called {
  std::string fault;
  std::vector<std::string> calls;  // of one client
};

const Called kCalled[] = {
    {"kill_client", {"kill", "start"}},
    {"pause_client", {"pause", "resume"}},
    {"pause_client_long", {"pause", "resume"}},
    {"clock_client", {"clock wrong", "clock right"}},
};

class ClientFaultsTest : public FaultsTest {};

TEST_F(ClientFaultsTest, AreDoneToOneClientAndUndone) {
  for (const auto& [fault, calls] : kCalled) {
    SCOPED_TRACE(fault);
    clients().calls().clear();
    int client = 0;
    Do(fault, [&](int target) { client = target; });
    EXPECT_THAT(clients().calls(), ElementsAre(absl::StrCat(calls[0], " ", client),
                                               absl::StrCat(calls[1], " ", client)));
  }
}

TEST_F(ClientFaultsTest, KillClients) {
  Do("kill_clients", [](int) {});
  EXPECT_THAT(clients().calls(), ElementsAre("kill 0", "kill 1", "start 0", "start 1"));
}

TEST_F(ClientFaultsTest, WhatCannotBeDoneToAllIsMendedAtOnce) {
  clients().Refuse("kill 1");
  Scene scene{servers(), network(), clients(), random()};
  EXPECT_TRUE(absl::IsUnavailable(Find("kill_clients").Begin(scene).status()));
  EXPECT_THAT(clients().calls(), ElementsAre("kill 0", "kill 1", "start 0", "start 1"));
}

TEST(Catalogue, HasManyKindsEachWithANameOfItsOwnAndATest) {
  std::set<std::string> names;
  for (const Fault& fault : Catalogue()) names.insert(fault.name);
  EXPECT_EQ(names.size(), Catalogue().size());
  EXPECT_EQ(names.size(), 33u);
  EXPECT_GE(std::count_if(Catalogue().begin(), Catalogue().end(),
                          [](const Fault& fault) { return fault.in_docker; }),
            8);
  std::set<std::string> tested = {"kill_clients"};
  for (const Sight& sight : CatalogueTest::Sights()) tested.insert(sight.fault);
  for (const Called& called : kCalled) tested.insert(called.fault);
  EXPECT_EQ(tested, names);
}

}  // namespace
}  // namespace zkrecipes::faults

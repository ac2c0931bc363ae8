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

// How a fault looks while it goes on: what was hit (a member or a client, the first of several),
// and which member led before.
struct Sight {
  std::string fault;
  void (*look)(int target, int leader);
};

class CatalogueTest : public FaultsTest, public ::testing::WithParamInterface<Sight> {
 public:
  static const Sight kSights[];

 private:
  static Host Member(int i) { return servers().host(i % 3); }
  static Host Client(int i) { return clients().host(i); }

  static void ExpectDown(int target) { EXPECT_FALSE(Runs(target)); }
  static void ExpectANewLeader(int target, int leader) {
    EXPECT_EQ(target, leader);
    EXPECT_TRUE(Writes(AwaitNewLeader(leader)));
  }
  static void ExpectANewLeaderAndTheOldOneDown(int target, int leader) {
    ExpectDown(target);
    ExpectANewLeader(target, leader);
  }
  static void ExpectTheLeaderGoesOn(int target, int leader) {
    ExpectDown(target);
    EXPECT_EQ(LeaderNow(), leader);
    EXPECT_TRUE(Writes(leader));
  }
  static void ExpectNoQuorum(int /*target*/, int /*leader*/) {
    EXPECT_EQ(Running(), 1);
    EXPECT_EQ(LeaderNow(), -1);
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(Runs(i) && Writes(i));
  }
  // Of the leader's own packets and those to it.
  static void ExpectHalfCut(int target, int leader, bool hears) {
    EXPECT_EQ(Hears(Member(leader), Member(leader + 1)), hears);
    EXPECT_NE(Hears(Member(leader + 1), Member(leader)), hears);
    ExpectANewLeader(target, leader);
  }
  // Of the two clients the one that is hit, and not the other.
  static void ExpectClient(int client, bool hears, bool is_heard) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(Hears(Client(client), Member(i)), hears);
      EXPECT_EQ(Hears(Member(i), Client(client)), is_heard);
    }
    EXPECT_TRUE(Hears(Client(1 - client), Member(0)));
  }
  static void ExpectArrivals(const Host& from, const Host& to, int least, int most) {
    const int arrived = Post(from).Send(200, Post(to));
    EXPECT_THAT(arrived, ::testing::AllOf(::testing::Ge(least), ::testing::Le(most)));
  }
  static bool LogSays(int member, const std::string& text) {
    return LogOf(member).find(text) != std::string::npos;
  }
};

const Sight CatalogueTest::kSights[] = {
    // Servers.
    {"kill_follower", ExpectTheLeaderGoesOn},
    {"kill_leader", ExpectANewLeaderAndTheOldOneDown},
    {"stop_leader", ExpectANewLeaderAndTheOldOneDown},
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
    {"lose_quorum", ExpectNoQuorum},
    {"pause_quorum", ExpectNoQuorum},
    {"kill_all", [](int, int) { EXPECT_EQ(Running(), 0); }},

    // Their network.
    {"partition_follower",
     [](int target, int leader) {
       EXPECT_NE(target, leader);
       for (const int other : {target + 1, target + 2}) {
         EXPECT_FALSE(Hears(Member(other), Member(target)));
         EXPECT_FALSE(Hears(Member(target), Member(other)));
       }
       EXPECT_TRUE(Hears(Member(target), Client(0)));
       EXPECT_TRUE(Writes(leader));
     }},
    {"partition_leader",
     [](int target, int leader) {
       EXPECT_TRUE(Hears(Member(target), Client(0)));
       ExpectANewLeader(target, leader);
     }},
    {"isolate_leader",
     [](int target, int leader) {
       EXPECT_FALSE(Hears(Member(target), Client(1)));
       EXPECT_FALSE(Hears(Client(1), Member(target)));
       ExpectANewLeader(target, leader);
     }},
    {"leader_deaf", [](int target, int leader) { ExpectHalfCut(target, leader, false); }},
    {"leader_mute", [](int target, int leader) { ExpectHalfCut(target, leader, true); }},
    {"cut_link",
     [](int target, int leader) {
       const Host one = Member(leader + 1), other = Member(leader + 2);
       EXPECT_EQ(target, leader);
       EXPECT_EQ(Hears(one, Member(leader)) + Hears(other, Member(leader)), 1);
       EXPECT_TRUE(Hears(one, other));
     }},
    {"lossy_members",
     [](int, int) {
       ExpectArrivals(Member(0), Member(1), 121, 189);
       EXPECT_EQ(Post(Member(0)).Send(50, Post(Client(1))), 50);
     }},
    {"slow_members",
     [](int, int) {
       EXPECT_GE(AnswerTime(Member(0), 1, "ruok"), absl::Milliseconds(200));
       EXPECT_GE(AnswerTime(Member(1), 0, "ruok"), absl::Milliseconds(200));
       EXPECT_TRUE(Eventually([] { return Writes(0); }));
     }},

    // The clients' network.
    {"partition_client", [](int client, int) { ExpectClient(client, false, false); }},
    {"expire_client",
     [](int client, int) {
       EXPECT_GE(base::BootNow() - begun(), clients().session_timeout() * 1.5);
       EXPECT_FALSE(Hears(Member(0), Client(client)));
     }},
    {"client_deaf", [](int client, int) { ExpectClient(client, false, true); }},
    {"client_mute", [](int client, int) { ExpectClient(client, true, false); }},
    {"lossy_client", [](int client, int) { ExpectArrivals(Client(client), Member(2), 91, 179); }},
    {"slow_client",
     [](int client, int) {
       EXPECT_GE(AnswerTime(Client(client), 0, "ruok"), absl::Milliseconds(400));
     }},
    {"narrow_client",
     [](int client, int) {  // the answer has some 700 bytes
       EXPECT_GE(AnswerTime(Client(client), 0, "envi"), absl::Milliseconds(250));
     }},

    // Disks.
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

TEST_P(CatalogueTest, TheFaultDoesWhatItSaysAndIsMended) {
  const int leader = AwaitNewLeader(-1);
  Do(GetParam().fault, [&](const Numbers& hit) { GetParam().look(hit.front(), leader); });
}

INSTANTIATE_TEST_SUITE_P(Faults, CatalogueTest, ::testing::ValuesIn(CatalogueTest::kSights),
                         [](const auto& row) { return row.param.fault; });

struct Called {
  std::string fault;
  std::string begin, end;  // the calls, for each client that is hit
};

const Called kCalled[] = {
    {"kill_client", "kill", "start"},
    {"kill_clients", "kill", "start"},
    {"pause_client", "pause", "resume"},
    {"pause_client_long", "pause", "resume"},
    {"clock_client", "clock wrong", "clock right"},
};

class ClientFaultsTest : public FaultsTest {};

TEST_F(ClientFaultsTest, AreDoneToOneClientOrAllAndUndone) {
  for (const auto& [fault, begin, end] : kCalled) {
    SCOPED_TRACE(fault);
    clients().calls().clear();
    Numbers hit;
    Do(fault, [&](const Numbers& numbers) { hit = numbers; });
    std::vector<std::string> calls;
    for (const std::string& call : {begin, end}) {
      for (const int client : hit) calls.push_back(absl::StrCat(call, " ", client));
    }
    EXPECT_EQ(clients().calls(), calls);
    EXPECT_EQ(hit.size(), fault == "kill_clients" ? 2u : 1u);
  }
}

TEST_F(ClientFaultsTest, WhatCannotBeDoneToAllIsMendedAtOnce) {
  clients().Refuse("kill 1");
  Arena arena = this->arena();
  EXPECT_TRUE(absl::IsUnavailable(FindFault("kill_clients")->Begin(arena).status()));
  EXPECT_THAT(clients().calls(), ElementsAre("kill 0", "kill 1", "start 0", "start 1"));
}

TEST(Catalogue, HasManyKindsEachWithANameOfItsOwnAndATest) {
  std::set<std::string> names;
  for (const Fault& fault : Catalogue()) names.insert(fault.name);
  EXPECT_EQ(names.size(), Catalogue().size());
  EXPECT_EQ(names.size(), 33u);
  EXPECT_EQ(std::ranges::count(Catalogue(), true, &Fault::in_docker), 30);
  std::set<std::string> tested;
  for (const Sight& sight : CatalogueTest::kSights) tested.insert(sight.fault);
  for (const Called& called : kCalled) tested.insert(called.fault);
  EXPECT_EQ(tested, names);
}

}  // namespace
}  // namespace zkrecipes::faults

// SPDX-License-Identifier: Apache-2.0

#include "verification/faults/catalogue.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "integration/servers/post.h"
#include "verification/faults/faults_fixture.h"

namespace zkrecipes::faults {
namespace {

using ::testing::ElementsAre;

TEST(Catalogue, HasManyKindsEachWithANameOfItsOwn) {
  std::set<std::string> names;
  for (const Fault& fault : Catalogue()) names.insert(fault.name);
  EXPECT_EQ(names.size(), Catalogue().size());
  EXPECT_GE(names.size(), 22u);
  EXPECT_GE(std::count_if(Catalogue().begin(), Catalogue().end(),
                          [](const Fault& fault) { return fault.in_docker; }),
            8);
}

class ServerFaultsTest : public FaultsTest {};

TEST_F(ServerFaultsTest, KillFollower) {
  const int leader = AwaitNewLeader(-1);
  Do("kill_follower", [&](int target) {
    EXPECT_FALSE(Runs(target));
    EXPECT_EQ(LeaderNow(), leader);
    EXPECT_TRUE(Writes(leader));
  });
}

TEST_F(ServerFaultsTest, KillLeader) {
  const int leader = AwaitNewLeader(-1);
  Do("kill_leader", [&](int target) {
    EXPECT_EQ(target, leader);
    EXPECT_FALSE(Runs(leader));
    EXPECT_TRUE(Writes(AwaitNewLeader(leader)));
  });
}

TEST_F(ServerFaultsTest, StopLeader) {
  const int leader = AwaitNewLeader(-1);
  Do("stop_leader", [&](int target) {
    EXPECT_EQ(target, leader);
    EXPECT_FALSE(Runs(leader));
    EXPECT_TRUE(Writes(AwaitNewLeader(leader)));
  });
}

TEST_F(ServerFaultsTest, PauseFollower) {
  const int leader = AwaitNewLeader(-1);
  Do("pause_follower", [&](int target) {
    EXPECT_FALSE(Runs(target));
    EXPECT_EQ(LeaderNow(), leader);
    EXPECT_TRUE(Writes(leader));
  });
}

TEST_F(ServerFaultsTest, PauseLeader) {
  const int leader = AwaitNewLeader(-1);
  Do("pause_leader", [&](int target) {
    EXPECT_EQ(target, leader);
    EXPECT_TRUE(Writes(AwaitNewLeader(leader)));
  });
}

TEST_F(ServerFaultsTest, WipeFollower) {
  Do("wipe_follower", [&](int target) {
    EXPECT_FALSE(Runs(target));
    if (local() == nullptr) return;
    EXPECT_TRUE(std::filesystem::exists(DirectoryOf(target) + "/data/myid"));
    EXPECT_FALSE(std::filesystem::exists(DirectoryOf(target) + "/data/version-2"));
    EXPECT_FALSE(std::filesystem::exists(DirectoryOf(target) + "/disk/version-2"));
  });
}

TEST_F(ServerFaultsTest, RollingRestart) {
  const base::BootTime begin = base::BootNow();
  Do("rolling_restart", [&](int) {
    for (int i = 0; i < 3; ++i) EXPECT_LT(Uptime(i), base::BootNow() - begin);
  });
}

TEST_F(ServerFaultsTest, LoseQuorum) {
  Do("lose_quorum", [&](int) {
    EXPECT_EQ(Running(), 1);
    EXPECT_EQ(LeaderNow(), -1);
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(Runs(i) && Writes(i));
  });
}

TEST_F(ServerFaultsTest, PauseQuorum) {
  Do("pause_quorum", [&](int) {
    EXPECT_EQ(Running(), 1);
    EXPECT_EQ(LeaderNow(), -1);
  });
}

TEST_F(ServerFaultsTest, KillAll) {
  Do("kill_all", [&](int) { EXPECT_EQ(Running(), 0); });
}

class NetworkFaultsTest : public FaultsTest {
 protected:
  static bool MemberHears(int to, int from) {
    return Hears(servers().host(to), servers().host(from));
  }
};

TEST_F(NetworkFaultsTest, PartitionFollower) {
  const int leader = AwaitNewLeader(-1);
  Do("partition_follower", [&](int target) {
    EXPECT_NE(target, leader);
    for (int i = 0; i < 3; ++i) {
      if (i == target) continue;
      EXPECT_FALSE(MemberHears(i, target));
      EXPECT_FALSE(MemberHears(target, i));
    }
    EXPECT_TRUE(Hears(servers().host(target), clients().host(0)));
    EXPECT_TRUE(Writes(leader));
  });
}

TEST_F(NetworkFaultsTest, PartitionLeader) {
  const int leader = AwaitNewLeader(-1);
  Do("partition_leader", [&](int target) {
    EXPECT_EQ(target, leader);
    EXPECT_TRUE(Hears(servers().host(target), clients().host(0)));
    EXPECT_TRUE(Writes(AwaitNewLeader(leader)));
  });
}

TEST_F(NetworkFaultsTest, IsolateLeader) {
  const int leader = AwaitNewLeader(-1);
  Do("isolate_leader", [&](int target) {
    EXPECT_EQ(target, leader);
    EXPECT_FALSE(Hears(servers().host(target), clients().host(1)));
    EXPECT_FALSE(Hears(clients().host(1), servers().host(target)));
    EXPECT_TRUE(Writes(AwaitNewLeader(leader)));
  });
}

TEST_F(NetworkFaultsTest, LeaderDeaf) {
  const int leader = AwaitNewLeader(-1);
  Do("leader_deaf", [&](int target) {
    EXPECT_EQ(target, leader);
    EXPECT_FALSE(MemberHears(leader, (leader + 1) % 3));
    EXPECT_TRUE(MemberHears((leader + 1) % 3, leader));
    EXPECT_TRUE(Writes(AwaitNewLeader(leader)));
  });
}

TEST_F(NetworkFaultsTest, LeaderMute) {
  const int leader = AwaitNewLeader(-1);
  Do("leader_mute", [&](int target) {
    EXPECT_EQ(target, leader);
    EXPECT_TRUE(MemberHears(leader, (leader + 1) % 3));
    EXPECT_FALSE(MemberHears((leader + 1) % 3, leader));
    EXPECT_TRUE(Writes(AwaitNewLeader(leader)));
  });
}

TEST_F(NetworkFaultsTest, CutLink) {
  const int leader = AwaitNewLeader(-1);
  Do("cut_link", [&](int target) {
    EXPECT_EQ(target, leader);
    EXPECT_EQ(MemberHears((leader + 1) % 3, leader) + MemberHears((leader + 2) % 3, leader), 1);
    EXPECT_TRUE(MemberHears((leader + 1) % 3, (leader + 2) % 3));
  });
}

TEST_F(NetworkFaultsTest, LossyMembers) {
  Do("lossy_members", [&](int) {
    const int arrived = Post(servers().host(0)).Send(200, Post(servers().host(1)));
    EXPECT_GT(arrived, 120);
    EXPECT_LT(arrived, 190);
    EXPECT_EQ(Post(servers().host(0)).Send(50, Post(clients().host(1))), 50);
  });
}

TEST_F(NetworkFaultsTest, SlowMembers) {
  Do("slow_members", [&](int) {
    EXPECT_GE(AnswerTime(servers().host(0), 1, "ruok"), absl::Milliseconds(200));
    EXPECT_GE(AnswerTime(servers().host(1), 0, "ruok"), absl::Milliseconds(200));
    EXPECT_TRUE(Eventually([] { return Writes(0); }));
  });
}

// Of the two clients the one that is hit, and not the other.
class ClientNetworkFaultsTest : public NetworkFaultsTest {
 protected:
  static void Expect(int client, bool hears, bool is_heard) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(Hears(clients().host(client), servers().host(i)), hears);
      EXPECT_EQ(Hears(servers().host(i), clients().host(client)), is_heard);
    }
    EXPECT_TRUE(Hears(clients().host(1 - client), servers().host(0)));
  }
};

TEST_F(ClientNetworkFaultsTest, PartitionClient) {
  Do("partition_client", [](int client) { Expect(client, false, false); });
}

TEST_F(ClientNetworkFaultsTest, ExpireClient) {
  const base::BootTime begin = base::BootNow();
  Do("expire_client", [&](int client) {
    EXPECT_GE(base::BootNow() - begin, clients().session_timeout() * 1.5);
    EXPECT_FALSE(Hears(servers().host(0), clients().host(client)));
  });
}

TEST_F(ClientNetworkFaultsTest, ClientDeaf) {
  Do("client_deaf", [](int client) { Expect(client, false, true); });
}

TEST_F(ClientNetworkFaultsTest, ClientMute) {
  Do("client_mute", [](int client) { Expect(client, true, false); });
}

TEST_F(ClientNetworkFaultsTest, LossyClient) {
  Do("lossy_client", [](int client) {
    const int arrived = Post(clients().host(client)).Send(200, Post(servers().host(2)));
    EXPECT_GT(arrived, 90);
    EXPECT_LT(arrived, 180);
  });
}

TEST_F(ClientNetworkFaultsTest, SlowClient) {
  Do("slow_client", [](int client) {
    EXPECT_GE(AnswerTime(clients().host(client), 0, "ruok"), absl::Milliseconds(400));
  });
}

TEST_F(ClientNetworkFaultsTest, NarrowClient) {
  Do("narrow_client", [](int client) {
    EXPECT_GE(AnswerTime(clients().host(client), 0, "envi"),  // of some 700 bytes
              absl::Milliseconds(250));
  });
}

class DiskFaultsTest : public FaultsTest {};

TEST_F(DiskFaultsTest, DiskFull) {
  Do("disk_full", [](int target) {
    EXPECT_TRUE(Eventually([target] {
      Writes((target + 1) % 3);
      return LogOf(target).find("No space left on device") != std::string::npos;
    }));
  });
}

TEST_F(DiskFaultsTest, SlowFsync) {
  Do("slow_fsync", [](int target) {
    ASSERT_TRUE(Writes((target + 1) % 3));
    EXPECT_TRUE(Eventually([target] {
      return LogOf(target).find("fsync-ing the write ahead log") != std::string::npos;
    }));
  });
}

TEST_F(DiskFaultsTest, SlowFsyncAll) {
  Do("slow_fsync_all", [](int) {
    const base::BootTime begin = base::BootNow();
    ASSERT_TRUE(Writes(0));
    EXPECT_GE(base::BootNow() - begin, absl::Milliseconds(400));
  });
}

class ClientFaultsTest : public FaultsTest {
 protected:
  void Expect(const std::string& fault, const std::string& begun, const std::string& ended) {
    int client = 0;
    Do(fault, [&](int target) { client = target; });
    EXPECT_THAT(clients().calls(),
                ElementsAre(absl::StrCat(begun, " ", client), absl::StrCat(ended, " ", client)));
  }
};

TEST_F(ClientFaultsTest, KillClient) { Expect("kill_client", "kill", "start"); }
TEST_F(ClientFaultsTest, PauseClient) { Expect("pause_client", "pause", "resume"); }
TEST_F(ClientFaultsTest, PauseClientLong) { Expect("pause_client_long", "pause", "resume"); }
TEST_F(ClientFaultsTest, ClockClient) { Expect("clock_client", "clock wrong", "clock right"); }
TEST_F(ClientFaultsTest, WhatCannotBeDoneToAllIsMendedAtOnce) {
  clients().Refuse("kill 1");
  Scene scene{servers(), network(), clients(), random()};
  EXPECT_TRUE(absl::IsUnavailable(Find("kill_clients").begin(scene).status()));
  EXPECT_THAT(clients().calls(), ElementsAre("kill 0", "kill 1", "start 0", "start 1"));
}

TEST_F(ClientFaultsTest, KillClients) {
  Do("kill_clients", [](int) {});
  EXPECT_THAT(clients().calls(), ElementsAre("kill 0", "kill 1", "start 0", "start 1"));
}

}  // namespace
}  // namespace zkrecipes::faults

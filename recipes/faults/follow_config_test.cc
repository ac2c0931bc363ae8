// SPDX-License-Identifier: Apache-2.0
//
// A client that follows the ensemble's config.

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "lib/session/client/client_core.h"
#include "recipes/faults/servers_change_fixture.h"
#include "testing/memory/tree.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::SizeIs;

TEST_F(ServersChangeTest, TheServersAreThoseOfTheEnsemblesConfig) {
  WriteConfig("server.1=memory-1:2888:3888:participant;0.0.0.0:2181\nversion=100000000");
  const auto follower = StartAt("memory-0", /*follow_config=*/true);
  const auto other = StartAt("memory-0");
  Acquire(*follower);
  const int64_t session = follower->client->session_id();
  PassTime(kSoon);
  EXPECT_EQ(follower->host->ConnectedTo(), 1);
  EXPECT_EQ(other->host->ConnectedTo(), 0);

  // While it is connected, and heard by its watch.
  WriteConfig("server.2=memory-2:2888:3888:observer;2181\nversion=100000001");
  PassTime(kSoon);
  EXPECT_EQ(follower->host->ConnectedTo(), 2);
  // Of a server that lags; what is no config; and one without ports for clients.
  for (const char* text :
       {"server.1=memory-1:2888:3888:participant;0.0.0.0:2181\nversion=100000000",
        "server.1=memory-1:2888:3888:participant;evil\nversion=f00000000",
        "server.1=memory-1:2888:3888:participant\nversion=f00000001"}) {
    WriteConfig(text);
    PassTime(kSoon);
    EXPECT_EQ(follower->host->ConnectedTo(), 2) << text;
  }
  WriteConfig("server.1=memory-1:2888:3888;2181\nversion=100000002");
  PassTime(kSoon);
  EXPECT_EQ(follower->host->ConnectedTo(), 1) << "each change is heard, by a watch of its own";
  EXPECT_TRUE(follower->holds());
  EXPECT_EQ(follower->client->session_id(), session);
  // In the next session as well.
  Expire(*follower);
  PassTime(absl::Seconds(5));
  WriteConfig("server.2=memory-0:2888:3888;2181\nversion=100000003");
  PassTime(kSoon);
  EXPECT_EQ(follower->host->ConnectedTo(), 0);
}

TEST_F(ServersChangeTest, ASessionThatWasRefusedForGoodFollowsTheConfigOnceItIsTriedAgain) {
  const auto follower = StartAt(simulation_.servers() + LongNamespace(), /*follow_config=*/true);
  model().set_keeper(true);
  std::vector<absl::StatusOr<Lease>> leases = AcquireAll(follower->client, 600);
  ASSERT_FALSE(leases.back().ok()) << "no further session was needed";
  model().set_keeper(false);
  leases.clear();
  simulation_.RunUntilIdle();
  leases = AcquireAll(follower->client, 600);
  ASSERT_TRUE(leases.back().ok());
  for (int server = 0; server < 3; ++server) {
    WriteConfig(absl::StrCat("server.1=memory-", server, ":2888:3888;2181\nversion=10", server));
    PassTime(kSoon);
    EXPECT_THAT(model().connections(), SizeIs(2));
    for (const ConnectionId id : model().connections()) EXPECT_EQ(model().ServerOf(id), server);
  }
}

// The servers with which the client began may be gone by then.
TEST_F(ServersChangeTest, AFurtherSessionBeginsAtTheServersOfTheEnsemblesConfig) {
  const auto follower = StartAt("memory-0" + LongNamespace(), /*follow_config=*/true);
  WriteConfig("server.1=memory-1:2888:3888;2181\nversion=1");
  PassTime(kSoon);
  EXPECT_EQ(follower->host->ConnectedTo(), 1);
  follower->host->set_drops(0, true);
  std::vector<absl::StatusOr<Lease>> leases = AcquireAll(follower->client, 600);
  ASSERT_FALSE(leases.empty());
  EXPECT_TRUE(leases.back().ok()) << leases.back().status();
  EXPECT_THAT(model().connections(), SizeIs(2));
}

TEST_F(ServersChangeTest, ASessionThatIsTriedAgainBeginsAtTheServersOfTheEnsemblesConfig) {
  const auto follower = StartAt("memory-0" + LongNamespace(), /*follow_config=*/true);
  model().set_keeper(true);
  std::vector<absl::StatusOr<Lease>> leases = AcquireAll(follower->client, 600);
  ASSERT_FALSE(leases.back().ok()) << "no further session was needed";
  model().set_keeper(false);
  WriteConfig("server.1=memory-1:2888:3888;2181\nversion=1");
  PassTime(kSoon);
  EXPECT_EQ(follower->host->ConnectedTo(), 1);
  follower->host->set_drops(0, true);
  leases.clear();
  simulation_.RunUntilIdle();
  leases = AcquireAll(follower->client, 600);
  ASSERT_FALSE(leases.empty());
  EXPECT_TRUE(leases.back().ok()) << leases.back().status();
  EXPECT_THAT(model().connections(), SizeIs(2));
}

TEST_F(ServersChangeTest, AConfigThatMayNotBeReadChangesNothingAndIsReadLater) {
  WriteConfig("server.1=memory-1:2888:3888;2181\nversion=1");
  ASSERT_TRUE(
      model().OperatorSetsAcl("/zookeeper/config", {{31, "digest", DigestId("me:secret")}}));
  const auto follower = StartAt("memory-0", /*follow_config=*/true);
  PassTime(absl::Seconds(30));
  EXPECT_EQ(follower->host->ConnectedTo(), 0);
  ASSERT_EQ(follower->client->AddDigestCredential("me:secret"), absl::OkStatus());
  follower->host->BreakConnections();
  PassTime(kSoon);
  EXPECT_EQ(follower->host->ConnectedTo(), 1);
}

TEST_F(ServersChangeTest, AConfigForWhichAServerHadNoTimeIsAskedForAgain) {
  Simulation busy({.traits = {.throttled_of = 1}});  // each request is refused
  LockUser follower;
  memory::Start(busy, follower, {.servers = "memory-0", .follow_config = true});
  const auto pass_time = [&busy](absl::Duration d) { busy.RunUntil(busy.now() + d); };
  pass_time(absl::Seconds(5));
  busy.ensemble().RefuseNothing();
  pass_time(absl::Seconds(5));
  (void)busy.ensemble().OperatorCreates("/zookeeper", {}, busy.now());
  ASSERT_TRUE(busy.ensemble().OperatorCreates(
      "/zookeeper/config", {.data = "server.1=memory-1:2888:3888;2181\nversion=1"}, busy.now()));
  pass_time(kSoon);
  EXPECT_EQ(follower.host->ConnectedTo(), 1);
}

TEST_F(ServersChangeTest, AFollowerClosesWithNothingLeft) {
  WriteConfig("server.1=memory-1:2888:3888;2181\nversion=1");
  const auto follower = StartAt("memory-0", /*follow_config=*/true);
  const auto closed = std::make_shared<base::OneShot<absl::Status>>();
  const auto core = internal::ClientAccess::Core(*follower->client);
  core->Close(closed);
  PassTime(kSoon);
  EXPECT_EQ(closed->Take(core->Now()), absl::OkStatus());
  EXPECT_EQ(model().watches(), 0u);
}

}  // namespace
}  // namespace zkrecipes::testing::memory

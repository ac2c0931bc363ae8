// SPDX-License-Identifier: Apache-2.0
//
// A client whose servers and users change while it runs, and what it says of servers that do not
// answer.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "recipes/faults/servers_change_fixture.h"
#include "testing/memory/tree.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

TEST_F(ServersChangeTest, ASessionMovesWithItsLeaseAndItsWatch) {
  const auto holder = StartAt("memory-0");
  Acquire(*holder);
  const auto waiter = StartAt("memory-1");
  Acquire(*waiter);
  const int64_t sessions[] = {holder->client->session_id(), waiter->client->session_id()};
  ASSERT_EQ(holder->host->ConnectedTo(), 0);
  std::vector<ClientState> states;
  const Subscription told =
      holder->client->OnStateChange([&](ClientState state) { states.push_back(state); });

  ASSERT_EQ(holder->client->SetServers("memory-2"), absl::OkStatus());
  ASSERT_EQ(waiter->client->SetServers("memory-2:2181,memory-0:2181"), absl::OkStatus());
  PassTime(kSoon);
  EXPECT_EQ(holder->host->ConnectedTo(), 2);
  EXPECT_NE(waiter->host->ConnectedTo(), 1);
  EXPECT_EQ(holder->client->session_id(), sessions[0]);
  EXPECT_EQ(waiter->client->session_id(), sessions[1]);
  EXPECT_TRUE(holder->holds());
  EXPECT_FALSE(holder->lease().ended().stop_requested());
  EXPECT_THAT(states, Not(Contains(ClientState::kExpired)));
  EXPECT_EQ(waiter->answers, 0);

  Release(*holder);
  EXPECT_TRUE(waiter->holds()) << "it was woken by the watch that it had set elsewhere";
  Release(*waiter);
  ExpectNothingLeft();
}

// As where one of the list is of another kind, or configured by mistake, and is met first by
// chance.
TEST_F(ServersChangeTest, OneServerThatRefusesAgainAndAgainEndsNoClientThatWasServed) {
  const auto user = Start();
  const auto begin_anew = [&](bool at_one) {
    user->host->set_only_server(at_one ? std::optional(1) : std::nullopt);
    model().set_keeper(true);
    Expire(*user);
    PassTime(absl::Minutes(2));
  };
  begin_anew(/*at_one=*/true);
  model().set_keeper(false);
  user->host->set_only_server(std::nullopt);
  PassTime(absl::Minutes(1));
  Acquire(*user);
  ASSERT_TRUE(user->result->ok()) << user->result->status();
  user->result.reset();
  begin_anew(/*at_one=*/false);
  Acquire(*user);
  EXPECT_EQ(user->code(), absl::StatusCode::kFailedPrecondition) << "each has refused it";
}

TEST_F(ServersChangeTest, EachServerIsAskedAnewOnceTheUsersHaveChanged) {
  const auto user = StartWith({.digest_credentials = {"me:old"}});
  model().set_keeper(true);  // refuses each client: which users it has makes no difference
  Expire(*user);
  const auto refused_by = [&](int server) {
    user->host->set_only_server(server);
    PassTime(absl::Minutes(1));
  };
  refused_by(0);
  refused_by(1);
  ASSERT_EQ(user->client->SetDigestCredentials({"me:new"}), absl::OkStatus());
  refused_by(2);
  EXPECT_NE(user->client->state(), ClientState::kClosed) << "two have refused another user";
  refused_by(0);
  ASSERT_EQ(user->client->SetDigestCredentials({"me:new"}), absl::OkStatus()) << "no change";
  refused_by(1);
  EXPECT_EQ(user->client->state(), ClientState::kClosed) << "each has refused this one";
}

TEST_F(ServersChangeTest, AServerThatStaysInTheListKeepsItsConnection) {
  const auto user = StartAt("memory-0");
  std::vector<ClientState> states;
  const Subscription told =
      user->client->OnStateChange([&](ClientState state) { states.push_back(state); });
  ASSERT_EQ(user->client->SetServers("memory-1,memory-2,memory-0"), absl::OkStatus());
  PassTime(absl::Seconds(30));
  EXPECT_EQ(user->host->ConnectedTo(), 0);
  EXPECT_THAT(states, ::testing::ElementsAre(ClientState::kConnected));
  user->host->BreakConnections();
  PassTime(kSoon);
  EXPECT_EQ(user->host->ConnectedTo(), 1) << "the first of the new list";
}

TEST_F(ServersChangeTest, NamesThatCannotBeResolvedChangeNothingUntilTheyCan) {
  const auto user = StartAt("memory-0");
  const int64_t session = user->client->session_id();
  ASSERT_EQ(user->client->SetServers("nowhere:1"), absl::OkStatus());
  PassTime(absl::Seconds(30));
  EXPECT_EQ(user->host->ConnectedTo(), 0);
  user->host->BreakConnections();
  PassTime(kSoon);
  EXPECT_EQ(user->host->ConnectedTo(), 0) << "better the old servers than none";
  ASSERT_EQ(user->client->SetServers("memory-1"), absl::OkStatus());
  PassTime(kSoon);
  EXPECT_EQ(user->host->ConnectedTo(), 1);
  EXPECT_EQ(user->client->session_id(), session);
}

TEST_F(ServersChangeTest, ASessionThatLostItsConnectionGoesOnAtTheNewServers) {
  const auto holder = StartAt("memory-0");
  Acquire(*holder);
  const int64_t session = holder->client->session_id();
  holder->host->set_network(Host::Network::kDown);
  PassTime(kSoon);
  ASSERT_EQ(holder->client->SetServers("memory-1"), absl::OkStatus());
  PassTime(kSoon);
  holder->host->set_network(Host::Network::kUp);
  PassTime(2 * kSoon);
  EXPECT_EQ(holder->host->ConnectedTo(), 1);
  EXPECT_EQ(holder->client->session_id(), session) << "it was not silent for its timeout";
  EXPECT_TRUE(holder->holds());
}

TEST_F(ServersChangeTest, AClientThatHasNoServerYetFindsThatOfTheNewList) {
  auto user = std::make_unique<LockUser>();
  user->host = simulation_.AddHost();
  const auto core = simulation_.NewClient(user->host, {.servers = "nowhere:1,not-here:2"});
  user->client = internal::ClientAccess::Wrap(core);
  core->Start([](const absl::Status&) {});
  simulation_.RunUntilIdle();
  EXPECT_EQ(Trouble(*user),
            "no server's name could be resolved (nowhere:1: no server of the ensemble in memory; "
            "not-here:2: no server of the ensemble in memory)");
  ASSERT_EQ(user->client->SetServers("memory-1"), absl::OkStatus());
  PassTime(absl::Seconds(10));
  EXPECT_EQ(user->host->ConnectedTo(), 1);
}

TEST_F(ServersChangeTest, AListIsCheckedAndTheNamespaceStays) {
  const auto user = StartAt("memory-0/team");
  for (const char* list : {"", "memory-1:0", "a b", "memory-1,,memory-2"}) {
    EXPECT_EQ(user->client->SetServers(list).code(), absl::StatusCode::kInvalidArgument) << list;
  }
  const absl::Status moved = user->client->SetServers("memory-1/other");
  EXPECT_EQ(moved.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(moved.message()), HasSubstr("memory-1/other"));
  EXPECT_THAT(std::string(moved.message()), HasSubstr("stays as it is, \"/team\""));
  EXPECT_EQ(user->client->SetServers("memory-0/team"), absl::OkStatus());
  EXPECT_EQ(user->client->SetServers("memory-1"), absl::OkStatus());
  Acquire(*user);
  PassTime(kSoon);
  EXPECT_EQ(model().committed().Children("/team/locks/q").size(), 1u);
  internal::ClientAccess::Core(*user->client)
      ->Close(std::make_shared<base::OneShot<absl::Status>>());
  PassTime(kSoon);
  EXPECT_EQ(user->client->SetServers("memory-1").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(user->client->AddDigestCredential("u:p").code(), absl::StatusCode::kFailedPrecondition);
}

// ---- users --------------------------------------------------------------------------------------

TEST_F(ServersChangeTest, AUserThatIsAddedHasItsRightsFromThenOn) {
  const auto user = Start();
  const std::vector<zk::AclEntry> only_me = {{31, "digest", DigestId("me:secret")}};
  ASSERT_TRUE(model().OperatorCreates("/locks", {.acl = only_me}, simulation_.now()));
  // Each path has a parent of its own, which only that user may make.
  const auto acquired = [&](const std::string& path) {
    absl::Status status = absl::UnknownError("no answer");
    Lock(user->client, path).AcquireAsync({}, [&status](const absl::StatusOr<Lease>& lease) {
      status = lease.status();
    });
    simulation_.RunUntilIdle();
    return status.code();
  };
  EXPECT_EQ(acquired("/locks/a"), absl::StatusCode::kPermissionDenied);
  const absl::Status bad = user->client->AddDigestCredential("secret-without-colon");
  EXPECT_EQ(bad.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(bad.message()), Not(HasSubstr("secret")));

  ASSERT_EQ(user->client->AddDigestCredential("me:secret"), absl::OkStatus());
  EXPECT_EQ(acquired("/locks/a"), absl::StatusCode::kOk) << "on the connection that there is";
  user->host->BreakConnections();
  PassTime(kSoon);
  EXPECT_EQ(acquired("/locks/b"), absl::StatusCode::kOk) << "on the next one";
  Expire(*user);
  PassTime(absl::Seconds(5));
  EXPECT_EQ(acquired("/locks/c"), absl::StatusCode::kOk) << "in the next session";
}

TEST_F(ServersChangeTest, APasswordIsReplacedWhileALeaseIsHeld) {
  const auto user = StartWith({.digest_credentials = {"me:old"}, .acl = CreatorOnlyAcl()});
  ASSERT_TRUE(model().OperatorCreates("/locks", {}, simulation_.now()));
  user->Acquire();
  simulation_.RunUntilIdle();
  ASSERT_TRUE(user->lease().believed());
  EXPECT_EQ(user->client->SetDigestCredentials({}).code(), absl::StatusCode::kInvalidArgument)
      << "the client's ACL needs one";
  ASSERT_EQ(user->client->SetDigestCredentials({"me:old", "me:new"}), absl::OkStatus());
  simulation_.RunUntilIdle();
  EXPECT_EQ(user->lease().state(), Lease::State::kHeld) << "nobody was taken away";
  const std::vector<zk::AclEntry> both = {{31, "digest", DigestId("me:old")},
                                          {31, "digest", DigestId("me:new")}};
  ASSERT_TRUE(model().OperatorSetsAcl(kPath, both));
  ASSERT_EQ(user->client->SetDigestCredentials({"me:new"}), absl::OkStatus());
  PassTime(kSoon);
  EXPECT_EQ(user->lease().state(), Lease::State::kHeld) << "on another connection";
  // What is made now has the new password's hash, and no other.
  const auto acquire = [&](LockUser& as) {
    absl::Status status = absl::UnknownError("no answer");
    Lock(as.client, "/locks/next").AcquireAsync({}, [&](const absl::StatusOr<Lease>& lease) {
      status = lease.status();
    });
    simulation_.RunUntilIdle();
    return status.code();
  };
  EXPECT_EQ(acquire(*user), absl::StatusCode::kOk);
  EXPECT_EQ(acquire(*StartWith({.digest_credentials = {"me:old"}})),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(acquire(*StartWith({.digest_credentials = {"me:new"}})), absl::StatusCode::kOk);
}

// ---- what it says -------------------------------------------------------------------------------

TEST_F(ServersChangeTest, TheTroubleNamesEachServerUntilThereIsAConnection) {
  const auto user = StartAt("memory-0,nowhere,memory-2");
  EXPECT_EQ(Trouble(*user), "");
  user->host->set_network(Host::Network::kDown);
  simulation_.RunUntilIdle();
  PassTime(absl::Seconds(5));
  EXPECT_EQ(Trouble(*user),
            "memory-0:2181 (0) refused the connection; "
            "nowhere:2181 could not be resolved (no server of the ensemble in memory); "
            "memory-2:2181 (2) refused the connection");
  user->host->set_network(Host::Network::kSilent);
  PassTime(absl::Minutes(1));
  EXPECT_THAT(Trouble(*user), HasSubstr("memory-0:2181 (0) did not answer in time; "));
  EXPECT_THAT(Trouble(*user), HasSubstr("memory-2:2181 (2) did not answer in time"));
  user->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(10));
  EXPECT_EQ(Trouble(*user), "");
  const bool first = user->host->ConnectedTo() == 0;
  user->host->BreakConnections();
  simulation_.RunUntilIdle();
  const std::string now = Trouble(*user);
  EXPECT_THAT(now, HasSubstr(first ? "(0) closed the connection" : "(2) closed the connection"));
  EXPECT_THAT(now, HasSubstr(first ? "(2) has not answered yet" : "(0) has not answered yet"));
}

}  // namespace
}  // namespace zkrecipes::testing::memory

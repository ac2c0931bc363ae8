// SPDX-License-Identifier: Apache-2.0
//
// Clients whose servers change while they run, on real ones. What needs no server is in
// recipes/servers_change_test.cc.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/raw_client.h"
#include "integration/fixtures/silent_server.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::integration {
namespace {

using ::testing::HasSubstr;
using testing::LocalEnsemble;

class ServersChangeOnServersTest : public ClientTest {};

// Three servers of its own that may be reconfigured, by anybody.
class FollowConfigTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started =
        LocalEnsemble::Start({.extra_config = {{"reconfigEnabled", "true"}, {"skipACL", "yes"}}});
    ASSERT_TRUE(started.ok()) << started.status();
    ensemble_ = *std::move(started);
  }

  int ServerOf(int64_t session) {
    for (int i = 0; i < ensemble_->size(); ++i) {
      const auto cons = ensemble_->FourLetterWord(i, "cons");
      if (cons.ok() && ParseConnections(*cons).count(static_cast<uint64_t>(session)) > 0) return i;
    }
    return -1;
  }

  // A client that was told of that server only, and has a lease.
  void Connect(int server) {
    auto client = Client::Connect({.servers = ensemble_->server(server),
                                   .follow_config = true,
                                   .session_timeout = absl::Seconds(20)},
                                  {kSoon});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    auto lease = Lock(client_, "/follow").Acquire({kSoon});
    ASSERT_TRUE(lease.ok()) << lease.status();
    lease_.emplace(*std::move(lease));
    session_ = client_->session_id();
  }
  bool MovesFrom(int server) {
    return Eventually([&] {
      const int now = ServerOf(session_);
      return now >= 0 && now != server;
    });
  }
  void ExpectAllIsAsBefore() {
    EXPECT_TRUE(Eventually([this] { return lease_->state() == Lease::State::kHeld; }));
    EXPECT_FALSE(lease_->ended().stop_requested());
    EXPECT_EQ(client_->session_id(), session_);
  }

  std::unique_ptr<LocalEnsemble> ensemble_;
  std::shared_ptr<Client> client_;
  std::optional<Lease> lease_;
  int64_t session_ = 0;
};

TEST_F(FollowConfigTest, ALeaseOutlivesTheOneServerThatTheClientWasTold) {
  ASSERT_NO_FATAL_FAILURE(Connect(0));
  ASSERT_EQ(ServerOf(session_), 0);
  ASSERT_TRUE(ensemble_->Kill(0).ok());
  EXPECT_TRUE(MovesFrom(0));
  ExpectAllIsAsBefore();
  EXPECT_EQ((*std::move(lease_)).Release({kSoon}), absl::OkStatus());
}

TEST_F(FollowConfigTest, AClientLeavesAServerThatARemovalTakesOutOfTheEnsemble) {
  const auto leader = ensemble_->Leader();
  ASSERT_TRUE(leader.ok()) << leader.status();
  const int removed = (*leader + 1) % 3;
  ASSERT_NO_FATAL_FAILURE(Connect(removed));
  ASSERT_EQ(ServerOf(session_), removed);
  ASSERT_EQ(RawSession(ensemble_->server(*leader)).Remove(removed + 1), 0);
  EXPECT_TRUE(MovesFrom(removed));
  ExpectAllIsAsBefore();
}

class NoQuorumTest : public FollowConfigTest {};

TEST_F(NoQuorumTest, TheMessageTellsAServerWithoutAQuorumFromThoseThatAreDown) {
  ASSERT_TRUE(ensemble_->Kill(1).ok());
  ASSERT_TRUE(ensemble_->Kill(2).ok());
  // Until it has noticed, it takes the client's handshake and says nothing.
  EXPECT_TRUE(Eventually([this] {
    const auto client = Client::Connect(
        {.servers = ensemble_->servers(), .session_timeout = absl::Seconds(1)}, {absl::Seconds(2)});
    return !client.ok() &&
           std::string(client.status().message())
                   .find(absl::StrCat(
                       ensemble_->server(0), " closed the connection during the ",
                       "handshake, as a server does that has no quorum, speaks TLS, or has ",
                       "maxClientCnxns connections of this host; ", ensemble_->server(1),
                       " refused the connection; ", ensemble_->server(2),
                       " refused the connection)")) != std::string::npos;
  }));
}

TEST_F(ServersChangeOnServersTest, WithoutASessionTheMessageSaysWhatEachServerDid) {
  const SilentServer silent(SilentServer::Queue::kFull);
  const SilentServer mute;
  const std::string list =
      absl::StrCat("127.0.0.1:1,", silent.address(), ",no..such..host,", mute.address());
  std::string said;
  // A server that is asked late has not answered yet.
  EXPECT_TRUE(Eventually([&] {
    const auto client =
        Client::Connect({.servers = list, .session_timeout = absl::Seconds(1)}, {absl::Seconds(4)});
    EXPECT_EQ(client.status().code(), absl::StatusCode::kUnavailable);
    said = std::string(client.status().message());
    return !absl::StrContains(said, "has not answered yet");
  }));
  EXPECT_THAT(said,
              HasSubstr(absl::StrCat("no session within 4s (127.0.0.1:1 refused the connection; ",
                                     silent.address(),
                                     " did not answer in time; no..such..host:2181 could "
                                     "not be resolved (")));
  EXPECT_THAT(said, HasSubstr(mute.address() + " took the connection, but said nothing in time"));
}

}  // namespace
}  // namespace zkrecipes::integration

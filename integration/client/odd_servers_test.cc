// SPDX-License-Identifier: Apache-2.0
//
// Unmodified servers that will not have a client, or cannot serve it, and what it is told.

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/stall.h"
#include "integration/servers/local_servers.h"
#include "lib/session/client/client_core.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;
using testing::LocalEnsemble;

constexpr absl::Duration kTimeout = absl::Seconds(2);

class OddServersTest : public ::testing::Test {
 protected:
  void StartOne(std::map<std::string, std::string> config, int heap = 96) {
    auto started = LocalEnsemble::Start(
        {.servers = 1, .extra_config = std::move(config), .max_heap_megabytes = heap});
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = std::make_unique<servers::LocalServers>(*std::move(started));
  }
  ClientOptions Options() const {
    return {.servers = server_->list(), .session_timeout = kTimeout};
  }
  std::shared_ptr<Client> Connected() {
    auto client = Client::Connect(Options(), {kSoon});
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  // Why the client has no connection; "" if it has one.
  static std::string Trouble(const Client& client) {
    return internal::ClientAccess::Core(client)->trouble();
  }

  std::unique_ptr<servers::LocalServers> server_;
};

// A restart on an empty disk, or on an old backup.
TEST_F(OddServersTest, AClientThatHasSeenMoreThanServersThatLostTheirDataIsToldAndBeginsAnew) {
  StartOne({});
  auto client = Connected();
  const States states(*client);
  const Lock lock(client, "/lock");
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(lock.Acquire({kSoon}).ok());  // it has seen some zxids
  const int64_t before = client->session_id();
  const auto token = [&lock] {
    const auto lease = lock.Acquire({kSoon});
    return lease.ok() ? lease->token().value() : -1;
  };
  const int64_t last = token();
  ASSERT_EQ(server_->Wipe(0), absl::OkStatus());
  ASSERT_EQ(server_->Start(0), absl::OkStatus());
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(Trouble(*client), "refuses this session");
  })) << Trouble(*client);
  EXPECT_TRUE(states.Await(ClientState::kExpired));
  const int64_t first = token();
  EXPECT_GT(first, 0);
  EXPECT_LT(first, last) << "which is why the epoch is to be raised";
  EXPECT_NE(client->session_id(), before);
}

TEST_F(OddServersTest, AServerThatWantsAnotherAuthenticationIsToldAsThatAtOnce) {
  StartOne({{"enforce.auth.enabled", "true"}, {"enforce.auth.schemes", "digest"}});
  const auto stranger = Client::Create(Options());
  ASSERT_TRUE(stranger.ok());
  const absl::Status unserved = Lock(*stranger, "/lock").Acquire({kSoon}).status();
  EXPECT_EQ(unserved.code(), StatusCode::kUnauthenticated) << unserved;
  EXPECT_THAT(std::string(unserved.message()), HasSubstr("give digest_credentials"));
  ClientOptions options = Options();
  options.digest_credentials = {"me:secret"};
  const auto served = Client::Connect(std::move(options), {kSoon});
  ASSERT_TRUE(served.ok()) << served.status();
  EXPECT_TRUE(Lock(*served, "/lock").Acquire({kSoon}).ok());
}

// Any tenant who may create nodes there can make such a listing.
TEST_F(OddServersTest, AListingThatIsTooLongFailsItsAcquireAndNothingElse) {
  StartOne({}, /*heap=*/1000);
  // Long enough for a server that is busy with its memory.
  auto client =
      *Client::Connect({.servers = server_->list(), .session_timeout = absl::Seconds(20)}, {kSoon});
  const auto held = Lock(client, "/held").Acquire({kSoon});
  ASSERT_TRUE(held.ok()) << held.status();
  const int64_t session = client->session_id();
  {
    const auto loop = internal::Loop::Start();
    ASSERT_TRUE(loop.ok()) << loop.status();
    ZkSession tenant(*loop, {.servers = server_->list()});
    ASSERT_TRUE(tenant.WaitUntilConnected());
    ASSERT_EQ(tenant.Do(zk::Create{"/long", "", zk::CreateMode::kPersistent}).code, zk::Code::kOk);
    for (int i = 0; i < 140; ++i) {  // of 70 MB
      const std::string name = absl::StrCat("/long/", i, std::string(500'000, 'x'));
      ASSERT_EQ(tenant.Do(zk::Create{name, "", zk::CreateMode::kPersistent}).code, zk::Code::kOk);
    }
    tenant.Close();
    (*loop)->Stop();
  }
  const absl::Status failed = Lock(client, "/long").Acquire({kSoon}).status();
  EXPECT_EQ(failed.code(), StatusCode::kResourceExhausted) << failed;
  EXPECT_THAT(std::string(failed.message()), HasSubstr("64 MiB"));
  EXPECT_TRUE(held->believed());
  EXPECT_EQ(client->session_id(), session);
  EXPECT_TRUE(Lock(client, "/other").Acquire({kSoon}).ok());
}

TEST_F(OddServersTest, TooManyConnectionsOfAHostAreAmongWhatARefusalMayBe) {
  StartOne({{"maxClientCnxns", "2"}});
  ClientOptions patient = Options();
  patient.session_timeout = absl::Seconds(20);
  const auto one = Client::Connect(patient, {kSoon});
  const auto other = Client::Connect(patient, {kSoon});
  ASSERT_TRUE(one.ok() && other.ok());
  const absl::Status refused =
      Undisturbed([&] { return Client::Connect(Options(), {absl::Seconds(6)}).status(); });
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("maxClientCnxns"));
}

}  // namespace
}  // namespace zkrecipes::integration

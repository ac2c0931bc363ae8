// SPDX-License-Identifier: Apache-2.0
//
// Clients under TLS, on the secure ports of real servers.

#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include <gmock/gmock.h>

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/ensemble_fixture.h"
#include "integration/servers/docker_servers.h"
#include "integration/servers/tcp_proxy.h"
#include "integration/tls/secure_ensemble.h"
#include "lib/zk/tls/tls_fixture.h"
#include "zkrecipes/client.h"
#include "zkrecipes/lock.h"

namespace zkrecipes::integration {
namespace {

using ::testing::HasSubstr;

class TlsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto ensemble = SecureEnsemble::Start(3);
    ASSERT_TRUE(ensemble.ok()) << ensemble.status();
    ensemble_ = ensemble->release();
  }
  static void TearDownTestSuite() { delete std::exchange(ensemble_, nullptr); }

  void SetUp() override {
    ASSERT_NE(ensemble_, nullptr);
    for (int i = 0; i < ensemble().size(); ++i) {
      if (ensemble().members().state(i) == testing::LocalEnsemble::MemberState::kDown) {
        ASSERT_EQ(ensemble().members().Restart(i), absl::OkStatus());
      }
    }
    ASSERT_EQ(ensemble().members().WaitForAll(kSoon), absl::OkStatus());
    path_ = absl::StrCat("/tls/", ::testing::UnitTest::GetInstance()->current_test_info()->name());
  }

  SecureEnsemble& ensemble() { return *ensemble_; }
  ClientOptions Options() {
    return {.servers = ensemble().servers(),
            .session_timeout = absl::Seconds(20),
            .tls = ensemble().options()};
  }
  static std::shared_ptr<Client> Connected(const ClientOptions& options) {
    auto client = Client::Connect(options, {kSoon});
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  std::shared_ptr<Client> Connected() { return Connected(Options()); }
  Lease Acquired(const std::shared_ptr<Client>& client) {
    auto lease = Lock(client, path_).Acquire({kSoon});
    EXPECT_TRUE(lease.ok()) << lease.status();
    return *std::move(lease);
  }
  // There is no session, and these words say why; at first a server that is busy may answer too
  // late.
  static void ExpectRefusal(const ClientOptions& options, const std::string& words) {
    absl::Status said;
    EXPECT_TRUE(Eventually([&] {
      said = Client::Connect(options, {absl::Milliseconds(1500)}).status();
      return said.ok() || absl::StrContains(said.message(), words);
    }));
    EXPECT_EQ(said.code(), absl::StatusCode::kUnavailable) << said;
    EXPECT_THAT(std::string(said.message()), HasSubstr(words));
  }

  static SecureEnsemble* ensemble_;
  std::string path_;
};

SecureEnsemble* TlsTest::ensemble_ = nullptr;

TEST_F(TlsTest, ALockIsHeldHandedOverAndReleased) {
  auto client = Connected(), other = Connected();
  Lease lease = Acquired(client);
  Pending waiting(other, path_);
  EXPECT_FALSE(waiting.answered());
  EXPECT_EQ(std::move(lease).Release({kSoon}), absl::OkStatus());
  EXPECT_TRUE(waiting.Get().ok());
}

TEST_F(TlsTest, ALeaseAndAWatchOutliveTheirServer) {
  auto client = Connected(), other = Connected();
  Lease lease = Acquired(client);
  Pending waiting(other, path_);
  for (int i = 0; i < ensemble().size(); ++i) {  // both have to move at least once
    ASSERT_EQ(ensemble().members().Kill(i), absl::OkStatus());
    ASSERT_EQ(ensemble().members().Restart(i), absl::OkStatus());
    ASSERT_EQ(ensemble().members().WaitForAll(kSoon), absl::OkStatus());
  }
  EXPECT_TRUE(Eventually([&] { return lease.state() == Lease::State::kHeld; }));
  EXPECT_FALSE(waiting.answered());
  EXPECT_EQ(std::move(lease).Release({kSoon}), absl::OkStatus());
  EXPECT_TRUE(waiting.Get().ok());
}

TEST_F(TlsTest, AnExpiredSessionIsFollowedByAnother) {
  ClientOptions options = Options();
  options.session_timeout = absl::Seconds(2);
  servers::TcpProxy proxy(absl::StrCat("127.0.0.1", ensemble().server(0).substr(9)));
  options.servers = proxy.address();
  auto client = Connected(options);
  const Lease lease = Acquired(client);
  const int64_t session = client->session_id();
  proxy.HoldEverything(true);
  EXPECT_TRUE(Eventually([&] { return lease.ended().stop_requested(); }));
  absl::SleepFor(absl::Seconds(3));
  proxy.HoldEverything(false);
  EXPECT_TRUE(Eventually([&] { return client->session_id() != session; }));
  EXPECT_TRUE(Lock(client, path_).Acquire({kSoon}).ok());
}

TEST_F(TlsTest, TheFilesMayChangeUnderALease) {
  ClientOptions options = Options();
  const zk::tls::TlsFiles& files = ensemble().files();
  const zk::tls::Identity first = ensemble().authority().Issue({.common_name = "first"});
  options.tls->certificate_file = files.Write("changing", first.certificate);
  options.tls->key_file = files.Write("changing_key", first.key);
  servers::TcpProxy proxy(absl::StrCat("127.0.0.1", ensemble().server(1).substr(9)));
  options.servers = proxy.address();
  auto client = Connected(options);
  const States states(*client);
  const Lease lease = Acquired(client);
  const int64_t session = client->session_id();

  files.Write("changing_key", "no key");  // the connection stays
  EXPECT_EQ(lease.Verify({kSoon}), absl::OkStatus());
  proxy.ResetAll();
  ASSERT_TRUE(states.Await(ClientState::kSuspended));
  EXPECT_TRUE(Eventually([&] {  // an attempt to connect may come late
    const auto refused = Lock(client, path_).Acquire({absl::Seconds(2)}).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
    return absl::StrContains(refused.message(), "changing_key\": has no good private key");
  }));

  const zk::tls::Identity second = ensemble().authority().Issue({.common_name = "second"});
  files.Write("changing", second.certificate);
  files.Write("changing_key", second.key);
  EXPECT_EQ(lease.Verify({kSoon}), absl::OkStatus());
  EXPECT_EQ(client->session_id(), session);
  EXPECT_FALSE(lease.ended().stop_requested());
}

// ---- what is refused ----------------------------------------------------------------------------

TEST_F(TlsTest, ARevokedServerIsSaidAndTheOthersServe) {
  ClientOptions options = Options();
  options.tls->crl_file =
      ensemble().files().Write("crl", ensemble().authority().ListOfRevoked({ensemble().serial(0)}));
  (void)Connected(options);
  options.servers = ensemble().server(0);
  ExpectRefusal(options, "certificate revoked");
}

TEST_F(TlsTest, AClientWithoutTheRequiredCertificateIsSaid) {
  ClientOptions options = Options();
  options.servers = ensemble().server(0);
  options.tls->certificate_file = options.tls->key_file = "";
  ExpectRefusal(options, "(this client has no certificate)");
}

TEST_F(TlsTest, APlainPortIsSaid) {
  ClientOptions options = Options();
  options.servers = absl::StrCat("localhost", ensemble().members().server(0).substr(9));
  ExpectRefusal(options, "as a port without TLS does");
}

TEST_F(TlsTest, ASecurePortThatIsSpokenToInPlainIsSaid) {
  ClientOptions options = Options();
  options.servers = ensemble().server(0);
  options.tls.reset();
  ExpectRefusal(options, "speaks TLS, or has");
}

TEST(DockerTlsTest, ALeaseOutlivesItsServerOnTheSecurePortsOfContainers) {
  const char* ensemble = std::getenv("ZKRECIPES_TEST_ENSEMBLE");
  if (ensemble == nullptr || std::string(ensemble) != "docker") {
    GTEST_SKIP() << "this test is about containers: ./dev test --docker runs it";
  }
  const zk::tls::TlsFiles files;
  zk::tls::TestAuthority authority;
  chmod(files.path("").c_str(), 0755);
  files.Write("ca", authority.certificate());
  // Which addresses they get is not known yet.
  for (int i = 1; i <= 3; ++i) {
    const zk::tls::Identity identity = authority.Issue({.names = "DNS:zk.example"});
    files.Write(absl::StrCat("identity", i), identity.key + identity.certificate);
  }
  const zk::tls::Identity own = authority.Issue({.names = ""});
  ClientOptions options{.session_timeout = absl::Seconds(20),
                        .tls = TlsOptions{.ca_file = files.path("ca"),
                                          .certificate_file = files.Write("own", own.certificate),
                                          .key_file = files.Write("key", own.key),
                                          .server_name = "zk.example"}};
  setenv("ZK_TLS_DIR", files.path("").c_str(), 1);
  auto servers = servers::DockerServers::Start({}, servers::DockerServers::Reach::kBridge);
  unsetenv("ZK_TLS_DIR");
  ASSERT_TRUE(servers.ok()) << servers.status();

  std::vector<std::string> secure;
  for (int i = 0; i < (*servers)->size(); ++i) {
    const std::vector<std::string> parts = absl::StrSplit((*servers)->server(i), ':');
    secure.push_back(parts.front() + ":2281");
  }
  options.servers = absl::StrJoin(secure, ",");
  auto client = Client::Connect(options, {kSoon});
  ASSERT_TRUE(client.ok()) << client.status();
  auto lease = Lock(*client, "/tls-in-docker").Acquire({kSoon});
  ASSERT_TRUE(lease.ok()) << lease.status();
  for (int i = 0; i < (*servers)->size(); ++i) {
    ASSERT_EQ((*servers)->Kill(i), absl::OkStatus());
    ASSERT_EQ((*servers)->Start(i), absl::OkStatus());
    ASSERT_EQ((*servers)->WaitForAll(kSoon), absl::OkStatus());
  }
  EXPECT_TRUE(Eventually([&] { return lease->state() == Lease::State::kHeld; }));
  EXPECT_EQ(std::move(*lease).Release({kSoon}), absl::OkStatus());

  options.tls->server_name = "other.example";
  const auto refused = Client::Connect(options, {absl::Seconds(2)});
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("not for \"other.example\" but for \"zk.example\""));
}

}  // namespace
}  // namespace zkrecipes::integration

// SPDX-License-Identifier: Apache-2.0

#include <sys/stat.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/fixtures/ensemble_fixture.h"
#include "integration/servers/docker_servers.h"
#include "lib/zk/tls/tls_fixture.h"
#include "zkrecipes/client.h"
#include "zkrecipes/lock.h"

namespace zkrecipes::servers {
namespace {

using integration::Eventually;
using integration::kSoon;

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
  auto servers = DockerServers::Start({}, DockerServers::Reach::kBridge);
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
              ::testing::HasSubstr("not for \"other.example\" but for \"zk.example\""));
}

}  // namespace
}  // namespace zkrecipes::servers

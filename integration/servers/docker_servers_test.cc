// SPDX-License-Identifier: Apache-2.0
//
// Tests of what only containers have; servers_test.cc has what they share with other servers.

#include "integration/servers/docker_servers.h"

#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include "integration/fixtures/ensemble_fixture.h"
#include "integration/fixtures/forked_child.h"
#include "integration/servers/command.h"
#include "integration/servers/network.h"
#include "testing/local/quorum.h"

namespace zkrecipes::servers {
namespace {

using integration::Eventually;
using integration::ForkedChild;

class DockerServersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* ensemble = std::getenv("ZKRECIPES_TEST_ENSEMBLE");
    if (ensemble == nullptr || std::string(ensemble) != "docker") {
      GTEST_SKIP() << "this test is about containers: ./dev test --docker runs it";
    }
  }
};

// Joins the servers' bridge.
std::unique_ptr<Network> NetworkOf(const DockerServers& servers) {
  const DockerServers::Bridge& bridge = servers.bridge();
  auto network = Network::Join(bridge.name, bridge.first_address, bridge.prefix);
  EXPECT_TRUE(network.ok()) << network.status();
  return network.ok() ? *std::move(network) : nullptr;
}

// Docker's objects under a compose project's name, a line each.
std::string Left(const std::string& project) {
  const std::string label = "--filter=label=com.docker.compose.project=" + project;
  return absl::StrCat(Output({"docker", "ps", "--all", "--quiet", label}).value_or("?"),
                      Output({"docker", "volume", "ls", "--quiet", label}).value_or("?"),
                      Output({"docker", "network", "ls", "--quiet", label}).value_or("?"));
}

TEST_F(DockerServersTest, HostsOnTheirBridgeReachThemUntilPacketsAreDropped) {
  if (geteuid() != 0) GTEST_SKIP() << "only root makes network namespaces";
  auto servers = DockerServers::Start({}, DockerServers::Reach::kBridge);
  ASSERT_TRUE(servers.ok()) << servers.status();
  const auto network = NetworkOf(**servers);
  ASSERT_NE(network, nullptr);
  const absl::StatusOr<Host> client = network->AddHost();
  ASSERT_TRUE(client.ok()) << client.status();

  const auto reached = [&](int i) {
    bool answered = false;
    const absl::Status entered = InNamespace(client->network_namespace, [&] {
      answered = testing::FourLetterWord((*servers)->server(i), "ruok", absl::Seconds(2)).ok();
    });
    EXPECT_EQ(entered, absl::OkStatus());
    return answered;
  };
  EXPECT_TRUE(reached(0));
  EXPECT_TRUE(reached(1));
  ASSERT_EQ(network->Drop(*client, (*servers)->host(0)), absl::OkStatus());
  EXPECT_FALSE(reached(0));
  EXPECT_TRUE(reached(1));
  ASSERT_EQ(network->Mend(*client), absl::OkStatus());
  EXPECT_TRUE(reached(0));
}

TEST_F(DockerServersTest, AMemberCutOffFromTheOthersServesNobodyUntilItIsMended) {
  if (geteuid() != 0) GTEST_SKIP() << "only root enters network namespaces";
  auto servers = DockerServers::Start();
  ASSERT_TRUE(servers.ok()) << servers.status();
  const auto network = NetworkOf(**servers);
  ASSERT_NE(network, nullptr);
  const int leader = integration::LeaderOf(**servers);
  for (int i = 0; i < (*servers)->size(); ++i) {
    if (i == leader) continue;
    const Host other = (*servers)->host(i);
    ASSERT_EQ(network->Drop(other, (*servers)->host(leader)), absl::OkStatus());
  }
  ASSERT_TRUE(Eventually([&] { return (*servers)->Leader().value_or(leader) != leader; }));
  ASSERT_EQ(network->Mend((*servers)->host(leader)), absl::OkStatus());
  EXPECT_EQ((*servers)->WaitForAll(integration::kSoon), absl::OkStatus());
}

TEST_F(DockerServersTest, LeaveNoContainerVolumeOrNetwork) {
  auto servers = DockerServers::Start();
  ASSERT_TRUE(servers.ok()) << servers.status();
  const std::string project = (*servers)->project();
  EXPECT_NE(Left(project), "");
  ASSERT_EQ((*servers)->Pause(0), absl::OkStatus());
  ASSERT_EQ((*servers)->Kill(1), absl::OkStatus());
  servers->reset();
  EXPECT_EQ(Left(project), "");
}

TEST_F(DockerServersTest, LeaveNothingWhenTheProcessThatStartedThemIsKilled) {
  std::optional<ForkedChild> child(std::in_place, [](integration::Line& line) {
    const auto servers = DockerServers::Start();
    line.Say(servers.ok() ? (*servers)->project() : "?");
    line.Hear();
  });
  std::string project;
  ASSERT_TRUE(child->line().Hear(&project));
  EXPECT_NE(Left(project), "");
  child.reset();  // kills it
  EXPECT_TRUE(Eventually([&] { return Left(project).empty(); })) << Left(project);
}

}  // namespace
}  // namespace zkrecipes::servers

// SPDX-License-Identifier: Apache-2.0
//
// What only containers have; what they share with other servers is in servers_test.cc.

#include "integration/servers/docker_servers.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

#include "integration/servers/command.h"
#include "integration/servers/network.h"
#include "testing/local/quorum.h"

namespace zkrecipes::servers {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(60);

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

// What docker has under a compose project's name, a line each.
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
  const absl::StatusOr<int> leader = (*servers)->Leader();
  ASSERT_TRUE(leader.ok()) << leader.status();
  for (int i = 0; i < (*servers)->size(); ++i) {
    if (i == *leader) continue;
    const Host other = (*servers)->host(i);
    ASSERT_EQ(network->Drop(other, (*servers)->host(*leader)), absl::OkStatus());
  }
  const absl::Time give_up = absl::Now() + kPatience;
  while ((*servers)->Leader().value_or(*leader) == *leader) {
    ASSERT_LT(absl::Now(), give_up) << "no other member leads";
    absl::SleepFor(absl::Milliseconds(100));
  }
  ASSERT_EQ(network->Mend((*servers)->host(*leader)), absl::OkStatus());
  EXPECT_EQ((*servers)->WaitForAll(kPatience), absl::OkStatus());
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
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto servers = DockerServers::Start();
    const std::string name = servers.ok() ? (*servers)->project() : "?";
    const bool told = write(ends[1], name.data(), name.size()) > 0;
    if (told) pause();
    _exit(1);
  }
  char name[64] = {};
  ASSERT_GT(read(ends[0], name, sizeof(name) - 1), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  const absl::Time give_up = absl::Now() + kPatience;
  while (!Left(name).empty()) {
    ASSERT_LT(absl::Now(), give_up) << Left(name);
    absl::SleepFor(absl::Milliseconds(100));
  }
}

}  // namespace
}  // namespace zkrecipes::servers

// SPDX-License-Identifier: Apache-2.0
//
// Tests of the promises of all kinds of servers, on those that ZKRECIPES_TEST_ENSEMBLE chooses.

#include "integration/servers/servers.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/ensemble_fixture.h"
#include "integration/fixtures/forked_child.h"
#include "integration/fixtures/raw_client.h"
#include "integration/servers/command.h"
#include "integration/servers/docker_servers.h"
#include "integration/servers/network.h"
#include "testing/local/quorum.h"
#include "testing/local/work_directory.h"

namespace zkrecipes::servers {
namespace {

using integration::Eventually;
using integration::ForkedChild;

constexpr absl::Duration kPatience = absl::Seconds(60);

// Members like any others, of which one takes no notice of being resumed.
class WithADeafMember : public Servers {
 public:
  WithADeafMember(Servers& real, int deaf) : real_(real), deaf_(deaf) {}

  int size() const override { return real_.size(); }
  std::string list() const override { return real_.list(); }
  std::string server(int i) const override { return real_.server(i); }
  Host host(int i) const override { return real_.host(i); }
  absl::StatusOr<int> Leader() override { return real_.Leader(); }
  absl::Status Stop(int i) override { return real_.Stop(i); }
  absl::Status Kill(int i) override { return real_.Kill(i); }
  absl::Status Wipe(int i) override { return real_.Wipe(i); }
  absl::Status Start(int i) override { return real_.Start(i); }
  absl::Status Pause(int i) override { return real_.Pause(i); }
  absl::Status Resume(int i) override { return i == deaf_ ? absl::OkStatus() : real_.Resume(i); }
  absl::Status WaitForAll(absl::Duration timeout) override { return real_.WaitForAll(timeout); }
  absl::StatusOr<std::vector<std::string>> TransactionLogs(const std::string& to) override {
    return real_.TransactionLogs(to);
  }

 private:
  Servers& real_;
  const int deaf_;
};

class ServersTest : public integration::EnsembleTest {
 protected:
  void SetUp() override {
    ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
    EnsembleTest::SetUp();
  }
  bool Answers(int i) { return ensemble().FourLetterWord(i, "ruok").ok(); }
  // A quorum is enough for a node; the others hear of it a moment later.
  bool AllHave(const std::string& node) {
    return integration::Eventually([&] {
      for (int i = 0; i < members().size(); ++i) {
        if (!integration::NodeExists(ensemble().server(i), node)) return false;
      }
      return true;
    });
  }
  int64_t LogsWith(const std::string& node) {
    const auto directory = testing::WorkDirectory::MakeTemporary(false);
    EXPECT_TRUE(directory.ok()) << directory.status();
    const auto logs = members().TransactionLogs(directory->path());
    EXPECT_TRUE(logs.ok()) << logs.status();
    return std::ranges::count_if(*logs, [&](const std::string& log) {
      return absl::StrContains(testing::ReadFile(log), node);
    });
  }
};

TEST_F(ServersTest, TheOthersGoOnWhenTheLeaderIsKilledAndItComesBack) {
  const int leader = Leader();
  ASSERT_EQ(members().Kill(leader), absl::OkStatus());
  ASSERT_EQ(members().Kill(leader), absl::OkStatus()) << "cannot be repeated";
  EXPECT_FALSE(Answers(leader));
  EXPECT_TRUE(absl::IsFailedPrecondition(members().Pause(leader)));
  EXPECT_TRUE(absl::IsFailedPrecondition(members().Resume(leader)));
  ASSERT_EQ(ensemble().WaitForQuorum(kPatience), absl::OkStatus());
  EXPECT_NE(Leader(), leader);

  ASSERT_EQ(members().Start(leader), absl::OkStatus());
  EXPECT_TRUE(Eventually([&] { return Answers(leader); }));
  ASSERT_EQ(members().Start(leader), absl::OkStatus()) << "cannot be repeated";
  EXPECT_EQ(members().WaitForAll(kPatience), absl::OkStatus());
}

TEST_F(ServersTest, APausedMemberIsSilentUntilItIsResumed) {
  const int leader = Leader();
  ASSERT_EQ(members().Pause(leader), absl::OkStatus());
  ASSERT_EQ(members().Pause(leader), absl::OkStatus()) << "cannot be repeated";
  EXPECT_TRUE(absl::IsDeadlineExceeded(ensemble().FourLetterWord(leader, "ruok").status()));
  ASSERT_EQ(ensemble().WaitForQuorum(kPatience), absl::OkStatus());
  EXPECT_NE(Leader(), leader);

  ASSERT_EQ(members().Resume(leader), absl::OkStatus());
  ASSERT_EQ(members().Resume(leader), absl::OkStatus()) << "cannot be repeated";
  EXPECT_EQ(members().WaitForAll(kPatience), absl::OkStatus());
}

TEST_F(ServersTest, APausedMemberCanBeKilledAndEveryMemberCanBeDownAtOnce) {
  ASSERT_TRUE(integration::CreateNode(ensemble().server(0), "/before-the-end"));
  ASSERT_EQ(members().Pause(0), absl::OkStatus());
  ASSERT_EQ(members().Kill(0), absl::OkStatus());
  ASSERT_EQ(members().Stop(1), absl::OkStatus());
  ASSERT_EQ(members().Stop(1), absl::OkStatus()) << "cannot be repeated";
  ASSERT_EQ(members().Kill(2), absl::OkStatus());
  EXPECT_FALSE(members().Leader().ok());
  ASSERT_EQ(Heal(members(), kPatience), absl::OkStatus());
  EXPECT_TRUE(integration::NodeExists(ensemble().server(0), "/before-the-end"));
  EXPECT_FALSE(integration::NodeExists(ensemble().server(0), "/before-the-end-not"));
}

TEST_F(ServersTest, AMemberThatDoesNotComeBackByItselfIsStartedAgain) {
  const int leader = Leader();
  WithADeafMember servers(members(), leader);
  ASSERT_EQ(servers.Pause(leader), absl::OkStatus());
  EXPECT_EQ(Heal(servers, absl::Seconds(16)), absl::OkStatus());
  EXPECT_TRUE(Eventually([&] { return Answers(leader); }));
}

TEST_F(ServersTest, AWipedMemberComesBackAndEveryMembersLogsCanBeRead) {
  ASSERT_TRUE(integration::CreateNode(ensemble().server(0), "/before-the-wipe"));
  ASSERT_TRUE(AllHave("/before-the-wipe"));
  const int leader = Leader();
  ASSERT_EQ(members().Wipe(leader), absl::OkStatus());
  ASSERT_EQ(members().Wipe(leader), absl::OkStatus()) << "cannot be repeated";
  EXPECT_TRUE(absl::IsDeadlineExceeded(members().WaitForAll(absl::Milliseconds(100))));
  ASSERT_EQ(members().Start(leader), absl::OkStatus());
  ASSERT_EQ(members().WaitForAll(kPatience), absl::OkStatus());
  ASSERT_TRUE(integration::NodeExists(ensemble().server(leader), "/before-the-wipe"));
  ASSERT_TRUE(integration::CreateNode(ensemble().server(0), "/after-the-wipe"));

  EXPECT_TRUE(
      integration::Eventually([&] { return LogsWith("/after-the-wipe") == members().size(); }));
  EXPECT_TRUE(integration::Eventually([&] {
    return LogsWith("/before-the-wipe") >= members().size() - 1;
  })) << "all but the one wiped";
}

TEST_F(ServersTest, NothingIsLeftWhenAllAreWiped) {
  ASSERT_TRUE(integration::CreateNode(ensemble().server(0), "/before-all-wipes"));
  for (int i = 0; i < members().size(); ++i) ASSERT_EQ(members().Wipe(i), absl::OkStatus());
  ASSERT_EQ(Heal(members(), kPatience), absl::OkStatus());
  for (int i = 0; i < members().size(); ++i) {
    EXPECT_FALSE(integration::NodeExists(ensemble().server(i), "/before-all-wipes"));
  }
}

TEST_F(ServersTest, AMembersHostIsWhereItListens) {
  if (geteuid() != 0) GTEST_SKIP() << "only root enters network namespaces";
  for (int i = 0; i < members().size(); ++i) {
    const Host host = members().host(i);
    EXPECT_EQ(RunIn(host.network_namespace, {"ip", "route", "get", host.address}), absl::OkStatus())
        << host.network_namespace;
    const auto addresses =
        Output({"nsenter", "--net=" + host.network_namespace, "ip", "-brief", "-4", "address"});
    ASSERT_TRUE(addresses.ok()) << addresses.status();
    EXPECT_NE(addresses->find(host.address + "/"), std::string::npos) << *addresses;
  }
}

// ---- how the fixtures read what servers say of themselves ---------------------------------------

TEST(FourLetterAnswers, ConnectionsTellSessionsFromTheWordItself) {
  EXPECT_THAT(
      integration::ParseConnections(
          " /127.0.0.1:42074[1](queued=0,recved=12,sent=11,sid=0x2000011a5c80001,lop=GETD,"
          "est=1700000000000,to=30000,lcxid=0x1f,lzxid=0x100000005,lresp=1,llat=0)\n"
          " /127.0.0.1:42080[0](queued=0,recved=1,sent=0)\n\n"),
      ::testing::ElementsAre(::testing::Pair(0u, 1), ::testing::Pair(0x2000011a5c80001u, 12)));
}

TEST(FourLetterAnswers, MonitorIsAMapOfTexts) {
  EXPECT_THAT(integration::ParseMonitor("zk_version\t3.8.0-x, built\nzk_packets_received\t17\n"),
              ::testing::ElementsAre(::testing::Pair("zk_packets_received", "17"),
                                     ::testing::Pair("zk_version", "3.8.0-x, built")));
}

// Only containers have these; all other servers and they share the tests above.
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

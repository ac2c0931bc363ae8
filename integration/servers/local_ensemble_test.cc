// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/testing/local_ensemble.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/forked_child.h"
#include "integration/servers/command.h"
#include "integration/servers/local_servers.h"
#include "integration/servers/sockets.h"
#include "lib/base/unique_fd.h"
#include "testing/local/server_files.h"

namespace zkrecipes::integration {
namespace {

using servers::ListeningAddressesOf;
using ::testing::HasSubstr;
using testing::LocalEnsemble;
using MemberState = LocalEnsemble::MemberState;

constexpr absl::Duration kPatience = absl::Seconds(30);

// The number of live processes in a process group, without zombies.
int64_t LiveProcessesIn(pid_t group) {
  const auto pids =
      servers::Output({"pgrep", "--pgroup", absl::StrCat(group), "--runstates", "D,R,S,T"});
  return pids.ok() ? std::ranges::count(*pids, '\n') + 1 : 0;  // it fails if there is none
}

// Takes a port.
base::UniqueFd Take(const sockaddr_in& address) {
  base::UniqueFd fd = servers::Listen(address);
  EXPECT_TRUE(fd.valid());
  return fd;
}

// An ensemble of these tests' own, whole at the start of each. servers_test.cc holds what all kinds
// of servers promise: a new leader, data that is kept.
class LocalEnsembleTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto started = LocalEnsemble::Start();
    ASSERT_TRUE(started.ok()) << started.status();
    shared_ = new servers::LocalServers(*std::move(started));
  }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }
  void SetUp() override {
    ASSERT_NE(shared_, nullptr);
    ASSERT_EQ(servers::Heal(*shared_, kPatience), absl::OkStatus());
  }
  static LocalEnsemble& local() { return shared_->ensemble(); }
  int LeaderNow() { return *local().Leader(); }
  int FollowerNow() { return (LeaderNow() + 1) % local().size(); }

 private:
  static servers::LocalServers* shared_;
};

servers::LocalServers* LocalEnsembleTest::shared_ = nullptr;

TEST_F(LocalEnsembleTest, EveryMemberAnswers) {
  for (int i = 0; i < local().size(); ++i) {
    EXPECT_EQ(local().state(i), MemberState::kRunning);
    const absl::StatusOr<std::string> answer = local().FourLetterWord(i, "srvr");
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_THAT(*answer, HasSubstr(i == LeaderNow() ? "Mode: leader" : "Mode: follower"));
  }
}

TEST_F(LocalEnsembleTest, ListensOnLoopbackOnly) {
  for (int i = 0; i < local().size(); ++i) {
    const std::vector<std::string> addresses = ListeningAddressesOf(local().pid(i));
    EXPECT_THAT(addresses, ::testing::Contains(local().server(i)));
    EXPECT_THAT(addresses, ::testing::Each(::testing::StartsWith("127.0.0.1:")));
  }
}

TEST(LocalEnsemble, ListensOnTheAddressesThatItIsGiven) {
  const auto ensemble =
      LocalEnsemble::Start({.addresses = {"127.0.0.2", "127.0.0.3", "127.0.0.4"}});
  ASSERT_TRUE(ensemble.ok()) << ensemble.status();
  for (int i = 0; i < 3; ++i) {
    const std::string address = absl::StrCat("127.0.0.", i + 2, ":");
    EXPECT_THAT((*ensemble)->server(i), ::testing::StartsWith(address));
    EXPECT_THAT(ListeningAddressesOf((*ensemble)->pid(i)),
                ::testing::Each(::testing::StartsWith(address)));
  }
}

TEST_F(LocalEnsembleTest, KeepsItsQuorumWhenAFollowerIsKilled) {
  const int follower = FollowerNow();
  ASSERT_TRUE(local().Pause(follower).ok());
  EXPECT_EQ(local().state(follower), MemberState::kPaused);
  ASSERT_TRUE(local().Kill(follower).ok());
  EXPECT_EQ(local().state(follower), MemberState::kDown);
  EXPECT_EQ(local().pid(follower), 0);
  EXPECT_TRUE(local().WaitForQuorum(kPatience).ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(local().WaitForAll(absl::Milliseconds(100))));
  EXPECT_TRUE(absl::IsUnavailable(local().FourLetterWord(follower, "ruok").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(local().Pause(follower)));
}

TEST_F(LocalEnsembleTest, SaysWhyAMemberCannotBeRestarted) {
  const int follower = FollowerNow();
  ASSERT_TRUE(local().Stop(follower).ok());
  const base::UniqueFd thief = Take(servers::SocketAddress(local().server(follower)));
  const absl::Status status = local().Restart(follower);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("java.net.BindException"));
}

TEST_F(LocalEnsembleTest, RefusesAMemberThatDoesNotExist) {
  for (const int i : {-1, local().size()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(local().Kill(i)));
    EXPECT_TRUE(absl::IsInvalidArgument(local().Restart(i)));
    EXPECT_TRUE(absl::IsInvalidArgument(local().FourLetterWord(i, "ruok").status()));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(local().FourLetterWord(0, "ruok?").status()));
}

TEST_F(LocalEnsembleTest, RunsBesideOthersThatStartAtTheSameTime) {
  absl::StatusOr<std::unique_ptr<LocalEnsemble>> one, two;
  std::thread thread([&one] { one = LocalEnsemble::Start(); });
  two = LocalEnsemble::Start();
  thread.join();
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_NE((*one)->servers(), (*two)->servers());
  EXPECT_NE((*one)->directory(), (*two)->directory());
}

TEST(LocalEnsembleOfOne, ServesAlone) {
  const auto ensemble = LocalEnsemble::Start({.servers = 1});
  ASSERT_TRUE(ensemble.ok()) << ensemble.status();
  EXPECT_EQ(*(*ensemble)->Leader(), 0);
  EXPECT_EQ((*ensemble)->servers(), (*ensemble)->server(0));
  EXPECT_TRUE((*ensemble)->WaitForAll(absl::ZeroDuration()).ok());
}

TEST(LocalEnsembleEnd, LeavesNoProcessAndNoFile) {
  auto ensemble = LocalEnsemble::Start({.servers = 3});
  ASSERT_TRUE(ensemble.ok()) << ensemble.status();
  const std::string directory = (*ensemble)->directory();
  const pid_t group = getpgid((*ensemble)->pid(0));  // the guard's, which all servers join
  ASSERT_TRUE((*ensemble)->Pause(1).ok());
  ASSERT_NE(group, getpgid(0));
  ASSERT_GE(LiveProcessesIn(group), 4);
  ensemble->reset();
  EXPECT_EQ(LiveProcessesIn(group), 0);
  EXPECT_FALSE(std::filesystem::exists(directory));
}

TEST(LocalEnsembleEnd, LeavesTheUsersDirectory) {
  std::string directory = ::testing::TempDir() + "zkrecipes-given-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  {
    const auto ensemble = LocalEnsemble::Start({.servers = 1, .directory = directory});
    ASSERT_TRUE(ensemble.ok()) << ensemble.status();
    EXPECT_EQ((*ensemble)->directory(), directory);
  }
  EXPECT_TRUE(std::filesystem::exists(directory + "/server1/zoo.cfg"));
  const auto again = LocalEnsemble::Start({.servers = 1, .directory = directory});
  EXPECT_TRUE(absl::IsFailedPrecondition(again.status())) << again.status();
  std::filesystem::remove_all(directory);
}

TEST(LocalEnsembleEnd, ComesWithTheEndOfAProcessThatIsKilled) {
  std::optional<ForkedChild> child(std::in_place, [](Line& line) {
    const auto ensemble = LocalEnsemble::Start({.servers = 3});
    if (!ensemble.ok() || !(*ensemble)->Pause(1).ok()) return;
    line.Say(absl::StrCat(getpgid((*ensemble)->pid(0)), " ", (*ensemble)->directory()));
    line.Hear();
  });
  std::string told;
  ASSERT_TRUE(child->line().Hear(&told));
  const std::pair<std::string, std::string> words = absl::StrSplit(told, ' ');
  const pid_t group = std::stoi(words.first);
  EXPECT_GE(LiveProcessesIn(group), 4);
  EXPECT_TRUE(std::filesystem::exists(words.second));
  child.reset();  // kills it
  EXPECT_TRUE(Eventually([&] { return LiveProcessesIn(group) == 0; }));
  EXPECT_FALSE(std::filesystem::exists(words.second));
}

TEST(LocalEnsembleEnd, ComesAfterItsMaximalLifetime) {
  const auto ensemble = LocalEnsemble::Start({.servers = 1, .max_lifetime = absl::Seconds(3)});
  ASSERT_TRUE(ensemble.ok()) << ensemble.status();
  EXPECT_TRUE(Eventually([&] { return (*ensemble)->state(0) == MemberState::kDown; }));
}

TEST(LocalEnsembleEnd, IsNotForAForkedChildToBring) {
  auto ensemble = LocalEnsemble::Start({.servers = 1});
  ASSERT_TRUE(ensemble.ok()) << ensemble.status();
  RunInForkedChild([&] { ensemble->reset(); });
  EXPECT_EQ((*ensemble)->state(0), MemberState::kRunning);
  EXPECT_TRUE((*ensemble)->FourLetterWord(0, "ruok").ok());
  EXPECT_TRUE(std::filesystem::exists((*ensemble)->directory()));
}

TEST(LocalEnsembleStart, GivesUpOnAPortThatStaysTaken) {
  const int port = testing::FreePorts(1)->front();
  const base::UniqueFd thief = Take(servers::SocketAddress("127.0.0.1", port));
  const auto ensemble =
      LocalEnsemble::Start({.servers = 1, .extra_config = {{"clientPort", absl::StrCat(port)}}});
  EXPECT_TRUE(absl::IsUnavailable(ensemble.status())) << ensemble.status();
  EXPECT_THAT(ensemble.status().ToString(), HasSubstr("java.net.BindException"));
}

TEST(LocalEnsembleStart, ShowsTheLogOfAServerThatDoesNotServe) {
  // One server that waits for the other of its two members.
  const auto ensemble = LocalEnsemble::Start(
      {.servers = 1,
       .extra_config = {{"server.1", "127.0.0.1:3:0"}, {"server.2", "127.0.0.1:1:2"}},
       .start_timeout = absl::Seconds(3)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(ensemble.status())) << ensemble.status();
  EXPECT_THAT(ensemble.status().ToString(), HasSubstr("0: not serving"));
  EXPECT_THAT(ensemble.status().ToString(), HasSubstr("server.log:\n"));
}

TEST(LocalEnsembleStart, RefusesOptionsBeforeItMakesAnything) {
  const auto ensemble = LocalEnsemble::Start({.servers = 0, .directory = "/tmp/zkrecipes-never"});
  EXPECT_TRUE(absl::IsInvalidArgument(ensemble.status())) << ensemble.status();
  EXPECT_THAT(ensemble.status().ToString(), HasSubstr("servers is 0"));
  EXPECT_FALSE(std::filesystem::exists("/tmp/zkrecipes-never"));
}

TEST(LocalEnsembleStart, NamesThePackageThatIsMissing) {
  const auto ensemble = LocalEnsemble::Start({.java = "/nowhere/java"});
  EXPECT_TRUE(absl::IsFailedPrecondition(ensemble.status())) << ensemble.status();
  EXPECT_THAT(ensemble.status().ToString(), HasSubstr("default-jre-headless"));
}

}  // namespace
}  // namespace zkrecipes::integration

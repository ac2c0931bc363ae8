// SPDX-License-Identifier: Apache-2.0
//
// A handle's session on a real ensemble: losses, reconnections and expiry.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/fixtures/silent_server.h"
#include "integration/fixtures/stall.h"
#include "integration/fixtures/zk_fixture.h"
#include "integration/servers/tcp_proxy.h"

namespace zkrecipes::integration {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::StartsWith;
using zk::Code;
using zk::Create;
using zk::CreateMode;
using zk::Delete;
using zk::Get;
using zk::GetChildren;
using zk::WatchNode;

class ZkSessionLifeTest : public ZkTest {};

TEST_F(ZkSessionLifeTest, KeepsItsSessionAndItsWatchesWhenItsServerIsRestarted) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  const int member = Follower();
  const absl::Duration longer = absl::Seconds(30);  // than the restart takes
  auto session = Connect({.servers = ensemble().server(member), .timeout = longer});
  auto other = Connect({.servers = ensemble().server(Leader())});
  CreateParent(*other);
  const std::string path = other->Do(Create{Child("a"), "", CreateMode::kPersistent}).path;
  const std::string kept = other->Do(Create{Child("b"), "", CreateMode::kPersistent}).path;
  session->Do(Delete{Child("barrier")});  // its server may lag
  ASSERT_EQ(session->Do(WatchNode{path}).code, Code::kOk);
  ASSERT_EQ(session->Do(WatchNode{kept}).code, Code::kOk);
  const zk::SessionId id = session->id();

  ASSERT_TRUE(members().Kill(member).ok());
  ASSERT_TRUE(session->journal().WaitFor("disconnected 0"));
  ASSERT_EQ(other->Do(Delete{path}).code, Code::kOk);
  ASSERT_TRUE(members().Start(member).ok());
  ASSERT_TRUE(session->WaitUntilConnected(2));
  EXPECT_EQ(session->id(), id);
  EXPECT_TRUE(session->journal().WaitFor("deleted " + path));
  other->Do(Delete{kept});
  EXPECT_TRUE(session->journal().WaitFor("deleted " + kept));
  EXPECT_EQ(session->journal().Count("deleted " + path), 1);
}

TEST_F(ZkSessionLifeTest, FindsAnotherServerWithinMomentsWhenItsOwnDies) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  const absl::Duration took = Undisturbed([this] {
    EXPECT_EQ(ensemble().Heal(), absl::OkStatus());
    const int member = Follower();
    auto session = Connect({.servers = absl::StrCat(ensemble().server(member), ",", servers())});
    const zk::SessionId id = session->id();
    EXPECT_EQ(ensemble().ServerOf(id), member) << "the first of the list";
    EXPECT_TRUE(members().Kill(member).ok());
    EXPECT_TRUE(session->journal().WaitFor("disconnected 0"));
    const base::BootTime lost = base::BootNow();
    EXPECT_TRUE(session->WaitUntilConnected(2));
    EXPECT_EQ(session->id(), id);
    return base::BootNow() - lost;
  });
  EXPECT_LT(took, absl::Seconds(3)) << "a silent server costs more";
}

// And tells of the loss before the requests fail.
TEST_F(ZkSessionLifeTest, ReportsAsLostWhatIsSentIntoADeadSocketAndNeverSendsItAgain) {
  constexpr size_t kRounds = 4;
  TcpProxy proxy(ensemble().server(0));
  auto session = Connect({.servers = proxy.address()});
  CreateParent(*session);
  auto observer = Connect();
  for (size_t round = 1; round <= kRounds; ++round) {
    session->journal().Clear();
    proxy.HoldReplies(true);
    session->OnLoop([&](zk::Handle& handle) {
      SendAndNote(handle, Create{Child("sent-"), "", CreateMode::kEphemeralSequential},
                  session->journal(), "sent");
    });
    // The servers have it; the reply is held back.
    ASSERT_TRUE(Eventually(
        [&] { return observer->Do(GetChildren{node_path()}).children.size() == round; }));
    EXPECT_EQ(session->pending(), 1);
    session->OnLoop([&](zk::Handle& handle) {
      proxy.ResetAll();
      for (int i = 0; i < 4; ++i) {
        SendAndNote(handle, Create{Child("late-"), "", CreateMode::kEphemeralSequential},
                    session->journal(), "late");
      }
    });
    proxy.HoldReplies(false);
    ASSERT_TRUE(session->WaitUntilConnected());
    EXPECT_THAT(session->journal().lines(),
                ElementsAre("disconnected 0", "sent ZCONNECTIONLOSS", "late ZCONNECTIONLOSS",
                            "late ZCONNECTIONLOSS", "late ZCONNECTIONLOSS", "late ZCONNECTIONLOSS",
                            "connected"));
  }
  session->Do(Delete{Child("barrier")});
  const zk::Names listed = session->Do(GetChildren{node_path()}).children;
  const std::vector<std::string> children(listed.begin(), listed.end());
  EXPECT_THAT(children, Not(Contains(StartsWith("late-")))) << "they were never on the wire";
  EXPECT_EQ(children.size(), kRounds) << "each that was on the server is there once";
}

TEST_F(ZkSessionLifeTest, ExpiresWhenItsLoopStoodStillTooLong) {
  auto other = Connect();
  CreateParent(*other);
  std::string mine;
  std::vector<std::string> lines;
  const absl::Duration closing = Undisturbed([&] {
    auto session = Connect({.timeout = absl::Seconds(1)});
    EXPECT_TRUE(Eventually([&] {  // also where a server is slow
      const zk::Reply made = session->Do(Create{Child("n-"), "", CreateMode::kEphemeralSequential});
      mine = made.path;
      return made.code == Code::kOk;
    }));
    session->OnLoop([](zk::Handle&) { absl::SleepFor(absl::Seconds(3)); });
    session->OnLoop([&](zk::Handle& handle) {
      for (int i = 0; i < 3; ++i) {
        SendAndNote(handle, Get{"/"}, session->journal(), absl::StrCat("get", i));
      }
    });
    EXPECT_TRUE(session->journal().WaitFor("ended ZSESSIONEXPIRED"));
    EXPECT_EQ(session->Do(Get{"/"}).code, Code::kSessionExpired) << "also what comes later";
    lines = session->journal().lines();
    // One for each server that was too slow to take it back.
    std::erase_if(lines, [](const std::string& line) {
      return line.starts_with("disconnected ") && line != "disconnected 0";
    });
    EXPECT_EQ(session->pending(), 0);
    return session->Close();
  });
  EXPECT_EQ(lines.size(), 6u) << ::testing::PrintToString(lines);
  EXPECT_THAT(lines, Contains("disconnected 0"));
  EXPECT_EQ(lines.back(), "ended ZSESSIONEXPIRED");
  EXPECT_LT(closing, kNoWait) << "nothing to wait for";
  EXPECT_EQ(Connect()->Do(Get{mine}).code, Code::kNoNode);
}

TEST_F(ZkSessionLifeTest, ExpiresWithRequestsPendingAndAnswersEachOnce) {
  TcpProxy proxy(ensemble().server(0));
  auto session = Connect({.servers = proxy.address(), .timeout = absl::Seconds(1)});
  proxy.HoldEverything(true);
  session->OnLoop([&](zk::Handle& handle) {
    for (int i = 0; i < 20; ++i) SendAndNote(handle, Get{"/"}, session->journal(), "get");
  });
  absl::SleepFor(absl::Seconds(3));
  proxy.HoldEverything(false);
  ASSERT_TRUE(session->journal().WaitFor("ended ZSESSIONEXPIRED"));
  const std::vector<std::string> lines = session->journal().lines();
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& line) { return line.rfind("get ", 0) == 0; }),
            20);
  EXPECT_EQ(session->pending(), 0);
}

TEST_F(ZkSessionLifeTest, KeepsItsConnectionWhenItsLoopWasLateButRepliesWaited) {
  const std::vector<std::string> lines = Undisturbed([this] {
    TcpProxy proxy(ensemble().server(0));
    auto session = Connect({.servers = proxy.address(), .timeout = absl::Seconds(9)});
    proxy.HoldEverything(true);
    session->OnLoop(
        [&](zk::Handle& handle) { SendAndNote(handle, Get{"/"}, session->journal(), "get"); });
    // Longer than the two thirds of the timeout after which the C client gives up a silent server.
    // Meanwhile the reply arrives.
    session->OnLoop([&proxy](zk::Handle&) {
      proxy.HoldEverything(false);
      absl::SleepFor(absl::Seconds(6.5));
    });
    session->Do(Get{"/"});
    return session->journal().lines();
  });
  EXPECT_THAT(lines, ElementsAre("connected", "get ZOK"));
}

TEST_F(ZkSessionLifeTest, StaysAliveByPingsAlone) {
  const std::vector<std::string> lines = Undisturbed([this] {
    auto session = Connect({.timeout = absl::Seconds(6)});
    absl::SleepFor(absl::Seconds(8));
    return session->journal().lines();
  });
  EXPECT_THAT(lines, ElementsAre("connected"));
}

TEST_F(ZkSessionLifeTest, SaysSinceWhenItWasConnecting) {
  const base::BootTime before = base::BootNow();
  auto session = Connect();
  const base::BootTime connected = base::BootNow();
  EXPECT_GE(session->began(), before);
  EXPECT_LE(session->began(), connected);
}

TEST_F(ZkSessionLifeTest, GivesUpASilentServerInTimeToReachAnother) {
  const SilentServer black_hole(SilentServer::Queue::kFull);
  TcpProxy says_nothing(ensemble().server(0));  // but accepts
  says_nothing.HoldEverything(true);
  for (const std::string& silent : {black_hole.address(), says_nothing.address()}) {
    const absl::Duration took = Undisturbed([&, &address = silent] {
      const base::BootTime before = base::BootNow();
      auto session =
          Connect({.servers = absl::StrCat(address, ",", servers()), .timeout = absl::Seconds(12)});
      EXPECT_EQ(session->journal().Count("disconnected 1"), 1);
      return base::BootNow() - before;
    });
    EXPECT_GE(took, absl::Seconds(4)) << "a third of the timeout";
    EXPECT_LT(took, absl::Seconds(7.5)) << "the C client alone takes two thirds";
  }
}

}  // namespace
}  // namespace zkrecipes::integration

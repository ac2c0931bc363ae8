// SPDX-License-Identifier: Apache-2.0
//
// Closing a handle: every request is answered once, sessions really end, nothing blocks for long.
// And what a process has of its handles: forks, and programs that it executes.

#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/fixtures/forked_child.h"
#include "integration/fixtures/stall.h"
#include "integration/fixtures/zk_fixture.h"

namespace zkrecipes::integration {
namespace {

using zk::Code;
using zk::Create;
using zk::CreateMode;
using zk::Get;
using zk::WatchNode;

class ZkCloseTest : public ZkTest {
 protected:
  // The time until another session sees that the node is gone.
  absl::Duration UntilGone(ZkSession& observer, const std::string& path) {
    const base::BootTime before = base::BootNow();
    while (observer.Do(Get{path}).code != Code::kNoNode) {
      if (base::BootNow() - before > absl::Seconds(5)) break;
    }
    return base::BootNow() - before;
  }

  std::string CreateEphemeral(ZkSession& session) {
    return session.Do(Create{Child("n-"), "", CreateMode::kEphemeralSequential}).path;
  }

  void StopServers(bool stop) {
    for (int i = 0; i < members().size(); ++i) {
      ASSERT_TRUE((stop ? members().Pause(i) : members().Resume(i)).ok());
    }
  }
};

TEST_F(ZkCloseTest, AnswersEverythingThatIsPendingOnceBeforeItReturns) {
  for (int i = 0; i < 100; ++i) {
    auto session = Connect();
    std::vector<int> answers(300, 0);
    session->OnLoop([&](zk::Handle& handle) {
      for (int& answer : answers) {
        handle.Send(Get{"/"}, [&answer](const zk::Reply& reply) {
          EXPECT_EQ(reply.code, Code::kClosing);
          ++answer;
        });
      }
      EXPECT_EQ(handle.pending(), 300);
      handle.Close();
      EXPECT_EQ(handle.pending(), 0);
      EXPECT_EQ(answers, std::vector<int>(300, 1));
    });
    session.reset();
    EXPECT_EQ(answers, std::vector<int>(300, 1));
  }
}

TEST_F(ZkCloseTest, AnswersWhatIsSentAfterwardsToo) {
  auto session = Connect();
  session->OnLoop([&](zk::Handle& handle) {
    handle.Send(Get{"/"}, [&](const zk::Reply&) {
      SendAndNote(handle, Get{"/"}, session->journal(), "from the answer");
    });
    handle.Close();
    SendAndNote(handle, Get{"/"}, session->journal(), "after");
  });
  EXPECT_TRUE(session->journal().WaitFor("from the answer ZCLOSING"));
  EXPECT_TRUE(session->journal().WaitFor("after ZCLOSING"));
}

TEST_F(ZkCloseTest, SaysNothingMoreToTheListener) {
  auto session = Connect();
  CreateParent(*session);
  session->Do(WatchNode{node_path()});
  session->journal().Clear();
  session->OnLoop([](zk::Handle& handle) { handle.Close(); });
  CreateEphemeral(*Connect());
  session->OnLoop([](zk::Handle&) {});
  EXPECT_THAT(session->journal().lines(), ::testing::IsEmpty());
}

TEST_F(ZkCloseTest, EndsTheSessionAtOnceWhenNothingIsPending) {
  auto observer = Connect();
  CreateParent(*observer);
  for (int i = 0; i < 20; ++i) {
    const auto [closing, going] = Undisturbed([&] {
      auto session = Connect();
      const std::string path = CreateEphemeral(*session);
      const absl::Duration closed = session->Close();
      return std::pair(closed, UntilGone(*observer, path));
    });
    EXPECT_LT(closing, kNoWait);
    EXPECT_LT(going, kNoWait);
  }
}

TEST_F(ZkCloseTest, SendsWhatTheSameTaskSentBefore) {
  auto observer = Connect();
  CreateParent(*observer);
  auto session = Connect();
  session->OnLoop([&](zk::Handle& handle) {
    handle.Send(Create{Child("kept"), "", CreateMode::kPersistent}, [](const zk::Reply&) {});
    handle.Close();
  });
  EXPECT_TRUE(Eventually([&] { return observer->Do(Get{Child("kept")}).code == Code::kOk; }));
}

TEST_F(ZkCloseTest, DoesNotWaitForASilentServer) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  const absl::Duration closing = Undisturbed([&] {
    auto session = Connect();
    StopServers(true);
    const absl::Duration took = session->Close();
    StopServers(false);
    return took;
  });
  EXPECT_LT(closing, kNoWait);
}

TEST_F(ZkCloseTest, ASessionThatIsEndedIsConfirmedAndItsListenerHearsNoMore) {
  auto observer = Connect();
  CreateParent(*observer);
  auto session = Connect();
  const std::string path = CreateEphemeral(*session);
  session->journal().Clear();
  session->OnLoop([&](zk::Handle& handle) {
    handle.EndSession([&](const zk::Reply& reply) {
      session->journal().Add(absl::StrCat("ended ", zk::CodeName(reply.code)));
      SendAndNote(handle, Get{"/"}, session->journal(), "after");
    });
  });
  EXPECT_TRUE(session->journal().WaitFor("after ZCLOSING"));
  EXPECT_EQ(observer->Do(Get{path}).code, Code::kNoNode);
  absl::SleepFor(absl::Milliseconds(500));  // in which it would have connected again
  EXPECT_THAT(session->journal().lines(), ::testing::ElementsAre("ended ZOK", "after ZCLOSING"));
}

TEST_F(ZkCloseTest, AnEndThatIsNotAnsweredIsLostWithTheConnection) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  auto session = Connect();
  StopServers(true);
  session->OnLoop([&](zk::Handle& handle) {
    handle.EndSession([&](const zk::Reply& reply) {
      session->journal().Add(absl::StrCat("ended ", zk::CodeName(reply.code)));
    });
  });
  EXPECT_TRUE(session->journal().WaitFor("ended ZCONNECTIONLOSS"));
  StopServers(false);
  session->Close();
}

TEST_F(ZkCloseTest, WaitsForNothingWhenTheSocketIsFull) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  const absl::Duration closing = Undisturbed([this] {
    auto session = Connect();
    StopServers(true);
    int answers = 0;
    session->OnLoop([&answers](zk::Handle& handle) {
      for (int i = 0; i < 20; ++i) {
        handle.Send(
            Create{"/zkrecipes-test-large", std::string(700'000, 'x'), CreateMode::kPersistent},
            [&answers](const zk::Reply&) { ++answers; });
      }
    });
    session->OnLoop([](zk::Handle&) {});
    const absl::Duration took = session->Close();
    EXPECT_EQ(answers, 20);
    StopServers(false);
    return took;
  });
  EXPECT_LT(closing, kNoWait);
}

TEST_F(ZkCloseTest, EndsAtOnceWhenNotConnected) {
  const auto closing = [this] { return Open({.servers = "127.0.0.1:1"})->Close(); };
  EXPECT_LT(Undisturbed(closing), kNoWait);
}

// ---- Handles and their process: fork and exec ---------------------------------------------------

using ZkProcessTest = ZkTest;

TEST_F(ZkProcessTest, GoesOnInTheParentWhateverAForkedChildDoesBeforeItEnds) {
  auto session = Connect();
  CreateParent(*session);
  const std::string mine =
      session->Do(Create{Child("n-"), "", CreateMode::kEphemeralSequential}).path;
  RunInForkedChild([] {});
  RunInForkedChild([this, &session] {
    session->DestroyInForkedChild();
    loop_->Stop();
    loop_.reset();
  });
  EXPECT_EQ(session->Do(Get{mine}).code, Code::kOk);
  absl::SleepFor(absl::Seconds(1.5));  // a server told to close the session would have done so
  EXPECT_EQ(session->Do(Get{mine}).stat.ephemeral_owner, session->id());
  EXPECT_THAT(session->journal().lines(), ::testing::ElementsAre("connected"));
}

TEST_F(ZkProcessTest, GivesNoDescriptorToAProgramThatIsExecuted) {
  auto session = Connect();
  ASSERT_EQ(session->Do(Get{"/"}).code, Code::kOk);
  FILE* list = popen("ls -l /proc/self/fd", "r");
  ASSERT_NE(list, nullptr);
  std::string open;
  char line[512];
  while (fgets(line, sizeof(line), list) != nullptr) open += line;
  pclose(list);
  EXPECT_THAT(open, ::testing::HasSubstr("/proc/"));
  EXPECT_THAT(open, ::testing::Not(::testing::HasSubstr("socket:")));
  EXPECT_THAT(open, ::testing::Not(::testing::HasSubstr("eventfd")));
  EXPECT_THAT(open, ::testing::Not(::testing::HasSubstr("timerfd")));
}

}  // namespace
}  // namespace zkrecipes::integration

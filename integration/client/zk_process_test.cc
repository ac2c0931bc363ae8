// SPDX-License-Identifier: Apache-2.0
//
// Handles and their process: fork, exec, several loops.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/fixtures/forked_child.h"
#include "integration/fixtures/zk_fixture.h"

namespace zkrecipes::integration {
namespace {

using zk::Code;
using zk::Create;
using zk::CreateMode;
using zk::Get;

class ZkProcessTest : public ZkTest {};

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

TEST_F(ZkProcessTest, LeavesTheProgramsRandomNumbersAlone) {
  srandom(42);
  const long expected[] = {random(), random()};
  srandom(42);
  EXPECT_EQ(random(), expected[0]);
  Connect()->Do(Get{"/"});
  EXPECT_EQ(random(), expected[1]);
}

TEST_F(ZkProcessTest, RunsSeveralLoopsAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([this, t] {
      auto loop = zk::Loop::Start();
      ASSERT_TRUE(loop.ok()) << loop.status();
      for (int i = 0; i < 5; ++i) {
        ZkSession session(*loop, {.servers = servers()});
        ASSERT_TRUE(session.WaitUntilConnected());
        const std::string path = absl::StrCat("/zkrecipes-loops-", t, "-");
        for (int n = 0; n < 50; ++n) {
          const auto created = session.Do(Create{path, "", CreateMode::kEphemeralSequential});
          ASSERT_EQ(created.code, Code::kOk);
          ASSERT_EQ(session.Do(zk::Delete{created.path}).code, Code::kOk);
        }
        session.Close();
      }
      (*loop)->Stop();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace zkrecipes::integration

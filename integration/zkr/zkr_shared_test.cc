// SPDX-License-Identifier: Apache-2.0
//
// `zkr lock --shared` and `--exclusive` on a real ensemble, as a user runs them.

#include <signal.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "integration/zkr/zkr_fixture.h"

namespace zkrecipes::integration {
namespace {

using ::testing::HasSubstr;

class ZkrSharedTest : public ZkrTest {
 protected:
  // A command that runs until it is told to end, and says `name` on the life line when it begins.
  std::unique_ptr<Zkr> StartSaying(const std::string& name, const std::vector<std::string>& flags) {
    return StartLock(Holding("echo " + name + " >&9; exec sleep 1000"), flags);
  }
  std::string Modes() {
    std::string modes;
    for (const ContenderInfo& c : Queue()) {
      absl::StrAppend(&modes, c.mode, c.holds ? " held, " : " waiting, ");
    }
    return modes;
  }
  void ExpectBusy(const std::vector<std::string>& flags) {
    auto zkr = StartLock("echo ran", flags);
    EXPECT_EQ(zkr->Wait(), 75);
    EXPECT_EQ(zkr->Result()["result"], "not_acquired");
    EXPECT_EQ(zkr->Out(), "");
  }
};

TEST_F(ZkrSharedTest, ReadersRunTogetherAndAWriterAlone) {
  auto one = StartSaying("one", {"--shared"});
  auto two = StartSaying("two", {"--shared", "--try"});
  ASSERT_TRUE(life_.WaitFor("one"));
  ASSERT_TRUE(life_.WaitFor("two"));
  ExpectBusy({"--exclusive", "--try"});
  auto writer = StartSaying("writer", {"--exclusive"});
  ASSERT_TRUE(AwaitQueue(3));
  EXPECT_EQ(Modes(), "shared held, shared held, exclusive waiting, ");
  one->Signal(SIGTERM);
  two->Signal(SIGTERM);
  EXPECT_EQ(one->Wait(), 128 + SIGTERM);
  EXPECT_EQ(two->Wait(), 128 + SIGTERM);
  ASSERT_TRUE(life_.WaitFor("writer"));
  EXPECT_GT(Queue().at(0).token.value(), two->Result()["token"]);
  ExpectBusy({"--shared", "--try"});
}

TEST_F(ZkrSharedTest, AQueuedWriterHoldsBackLaterReaders) {
  auto reader = StartSaying("reader", {"--shared"});
  ASSERT_TRUE(life_.WaitFor("reader"));
  auto writer = StartSaying("writer", {"--exclusive"});
  ASSERT_TRUE(AwaitQueue(2));
  ExpectBusy({"--shared", "--try"});
  ExpectBusy({"--shared", "--wait", "100ms"});
}

TEST_F(ZkrSharedTest, APlainLockIsAWriter) {
  auto reader = StartSaying("reader", {"--shared"});
  ASSERT_TRUE(life_.WaitFor("reader"));
  ExpectBusy({"--try"});
  reader->Signal(SIGTERM);
  EXPECT_EQ(reader->Wait(), 128 + SIGTERM);
  auto plain = StartSaying("plain", {});
  ASSERT_TRUE(life_.WaitFor("plain"));
  ExpectBusy({"--shared", "--try"});
  ExpectBusy({"--exclusive", "--try"});
}

TEST_F(ZkrSharedTest, TheSequencerSaysWhichOfThem) {
  for (const std::string mode : {"shared", "exclusive"}) {
    auto zkr = StartLock("echo $ZKR_SEQUENCER", {"--" + mode});
    EXPECT_EQ(zkr->Wait(), 0);
    EXPECT_THAT(zkr->Out(), HasSubstr("zkr1:" + mode + ":" + zkr->Result()["token"].dump() + ":"));
  }
}

}  // namespace
}  // namespace zkrecipes::integration

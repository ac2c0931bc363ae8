// SPDX-License-Identifier: Apache-2.0
//
// CMD is dead before another can be granted its lock, although zkr's server, cut off from its
// ensemble, goes on answering; and a connection that is lost for a moment does not disturb it.

#include <signal.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

#include "integration/fixtures/partition_fixture.h"
#include "integration/zkr/zkr_fixture.h"

namespace zkrecipes::integration {
namespace {

using base::BootTime;

// Longer than the session timeout by far: the servers notice nothing before the lock is given away.
constexpr absl::Duration kPatience = absl::Seconds(12);

class ZkrPartitionTest : public PartitionTest, protected testing::Scripts {
 protected:
  ZkrPartitionTest() : PartitionTest(kPatience) {}

  void SetUp() override {
    PartitionTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    follower_ = Follower();
    other_ = NewClient(Leader(), {.session_timeout = absl::Seconds(20)});
  }
  void TearDown() override {
    zkr_ = nullptr;
    other_ = nullptr;
    PartitionTest::TearDown();
  }

  // CMD holds the life line, with all that it starts, and says "ready".
  void StartLock(const std::string& servers, absl::Duration timeout, const std::string& script) {
    zkr_ = std::make_unique<Zkr>(
        servers,
        std::vector<std::string>{"lock", node_path(), "--status-fd", "3", "--session-timeout",
                                 absl::FormatDuration(timeout), "--", "sh", "-c", Holding(script)});
    ASSERT_TRUE(life_.WaitFor("ready"));
    next_ = std::make_unique<Pending>(other_, node_path());
    ASSERT_TRUE(Eventually([&] { return Queue().size() == 2; }));
    // A new session is proven for longer than beats prove it: wait until that is over.
    absl::SleepFor(timeout);
  }
  void StartLockOnFollower(const std::string& script) {
    StartLock(ensemble().server(follower_), absl::Seconds(6), script);
  }

  // That the holder is connected to.
  int ServingMember() { return ensemble().ServerOf(Queue().at(0).session); }

  std::vector<ContenderInfo> Queue() { return ClientTest::Queue(*other_, node_path()); }

  // Waits for the end of all that holds the life line, and for the grant to the other.
  void ExpectDeadBeforeTheOtherIsGranted(BootTime began) {
    EXPECT_TRUE(life_.WaitUntilCut());
    const BootTime dead = base::BootNow();
    EXPECT_FALSE(next_->answered()) << "two at once";
    EXPECT_TRUE(next_->Get().ok());
    absl::PrintF("  dead after %d ms, %d ms before the grant to the other\n",
                 absl::ToInt64Milliseconds(dead - began),
                 absl::ToInt64Milliseconds(base::BootNow() - dead));
  }

  void ExpectLost() {
    EXPECT_EQ(zkr_->Wait(), 70);
    EXPECT_EQ(zkr_->Result()["result"], "lost");
    EXPECT_EQ(zkr_->Result()["status"], 70);
    EXPECT_GT(zkr_->Result()["token"], 0);
  }

  int follower_ = -1;
  std::unique_ptr<Zkr> zkr_;
  std::shared_ptr<Client> other_;
  std::unique_ptr<Pending> next_;  // the other, in the queue behind zkr
};

// With a grandchild in a session of its own.
constexpr char kHeedsNoSignal[] =
    "trap 'echo asked >&9' TERM; (setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep 1; done' "
    "&); echo ready >&9; while :; do sleep 0.01; done";

TEST_F(ZkrPartitionTest, ACommandThatHeedsNoSignalIsDeadBeforeTheOtherIsGranted) {
  StartLockOnFollower(kHeedsNoSignal);
  CutOff(follower_);
  const BootTime cut = base::BootNow();
  ExpectDeadBeforeTheOtherIsGranted(cut);
  EXPECT_TRUE(life_.WaitFor("asked"));
  Mend(follower_);
  ExpectLost();
}

TEST_F(ZkrPartitionTest, ACommandThatEndsWhenAskedHasTimeForIt) {
  StartLockOnFollower(
      "trap 'echo asked >&9; : some work; echo done >&9; exit 0' TERM; echo ready >&9; "
      "while :; do sleep 0.01; done");
  CutOff(follower_);
  const BootTime cut = base::BootNow();
  EXPECT_TRUE(life_.WaitFor("asked"));
  absl::PrintF("  asked after %d ms\n", absl::ToInt64Milliseconds(base::BootNow() - cut));
  ExpectDeadBeforeTheOtherIsGranted(cut);
  EXPECT_TRUE(life_.WaitFor("done"));
  Mend(follower_);
  ExpectLost();
}

TEST_F(ZkrPartitionTest, TheTreeOfAStoppedZkrIsDeadBeforeTheOtherIsGranted) {
  StartLockOnFollower(kHeedsNoSignal);
  zkr_->Signal(SIGSTOP);
  ExpectDeadBeforeTheOtherIsGranted(base::BootNow());
  zkr_->Signal(SIGCONT);
  ExpectLost();
}

TEST_F(ZkrPartitionTest, TheTreeOfAKilledZkrIsDeadBeforeTheOtherIsGranted) {
  StartLockOnFollower(kHeedsNoSignal);
  zkr_->Signal(SIGKILL);
  ExpectDeadBeforeTheOtherIsGranted(base::BootNow());
}

TEST_F(ZkrPartitionTest, ACommandIsNotDisturbedByTheRestartOfItsServer) {
  const int third = 3 - follower_ - Leader();
  StartLock(ensemble().server(follower_) + "," + ensemble().server(third), absl::Seconds(10),
            "trap 'exit 9' TERM; echo ready >&9; " + UntilGo() + "exit 4");
  const int serving = ServingMember();
  ASSERT_GE(serving, 0);
  ASSERT_TRUE(members().Kill(serving).ok());
  ASSERT_TRUE(members().Start(serving).ok());
  EXPECT_TRUE(Eventually([&] { return ServingMember() >= 0; }));
  EXPECT_FALSE(next_->answered());
  absl::SleepFor(absl::Seconds(5));  // more than was left of the lease
  Go();
  EXPECT_EQ(zkr_->Wait(), 4);
  EXPECT_EQ(zkr_->Result()["result"], "ran");
}

}  // namespace
}  // namespace zkrecipes::integration

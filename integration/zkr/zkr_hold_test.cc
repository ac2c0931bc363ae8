// SPDX-License-Identifier: Apache-2.0

// `zkr lock` without a command, and what it tells people while nothing happens.

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "gmock/gmock.h"

#include "integration/zkr/zkr_fixture.h"

namespace zkrecipes::integration {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ZkrHoldTest : public ZkrTest {
 protected:
  // zkr lock node_path() --hold, its stdin the life of `script`.
  std::unique_ptr<Zkr> StartHold(const std::string& script, const std::string& flags = "") {
    return StartShellLine(script + " | exec " ZKRECIPES_BIN_DIR "/zkr lock " + node_path() +
                          " --hold --status-fd 3 " + flags);
  }
  std::unique_ptr<Zkr> StartShellLine(const std::string& line) {
    return std::make_unique<Zkr>(servers(), std::vector<std::string>{"bash", "-c", line},
                                 /*program=*/"");
  }
};

TEST_F(ZkrHoldTest, PrintsWhatItHoldsUntilItsInputEnds) {
  auto zkr = StartHold("(" + UntilGo() + ")");
  ASSERT_TRUE(AwaitQueue(1));
  const auto queue = Queue();
  ASSERT_TRUE(Eventually([&] { return !zkr->Out().empty(); }));
  EXPECT_EQ(zkr->Out(), queue[0].token.ToString() + " zkr1:exclusive:" + queue[0].token.ToString() +
                            ":" + node_path() + "/" + queue[0].node + "\n");
  Go();
  EXPECT_EQ(zkr->Wait(), 0);
  EXPECT_EQ(zkr->Result(),
            json({{"result", "ran"}, {"status", 0}, {"token", queue[0].token.value()}}));
  EXPECT_THAT(Queue(), IsEmpty());
}

TEST_F(ZkrHoldTest, PrintsJson) {
  auto zkr = StartHold("true", "--json --shared");
  EXPECT_EQ(zkr->Wait(), 0);
  const json held = json::parse(zkr->Out());
  EXPECT_GT(held["token"], 0);
  EXPECT_THAT(held["sequencer"].get<std::string>(), HasSubstr("zkr1:shared:"));
}

TEST_F(ZkrHoldTest, LetsGoAndDiesOfASignal) {
  auto zkr =
      Start({"lock", node_path(), "--hold"});  // its stdin ends at once: not what ends this one
  EXPECT_EQ(zkr->Wait(), 0);
  auto other = StartShellLine("sleep 1000 > >(exec " ZKRECIPES_BIN_DIR "/zkr lock " + node_path() +
                              " --hold)");
  ASSERT_TRUE(AwaitQueue(1));
  testing::SignalDescendant(other->pid(), "zkr", SIGTERM);
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(ZkrHoldTest, TellsALossOnItsOutputAndEndsWithIt) {
  auto zkr = StartHold("sleep 1000");
  ASSERT_TRUE(AwaitQueue(1));
  ASSERT_TRUE(Eventually([&] { return !zkr->Out().empty(); }));
  DeleteNode(Queue()[0].node);
  ASSERT_TRUE(Eventually([&] { return !zkr->Result().is_null(); }));
  EXPECT_EQ(zkr->Result()["result"], "lost");
  EXPECT_EQ(zkr->Result()["status"], 70);
  EXPECT_THAT(zkr->Out(), ::testing::EndsWith("\nlost\n"));
}

TEST_F(ZkrHoldTest, SaysThatItCannotPrintAndHoldsNothing) {
  auto zkr = StartHold("sleep 1000", ">/dev/full");
  ASSERT_TRUE(Eventually([&] { return !zkr->Result().is_null(); }));
  EXPECT_EQ(zkr->Result()["status"], 71);
  EXPECT_TRUE(AwaitQueue(0));
}

// What waiting for signals usually takes is refused just when the lock is granted.
TEST_F(ZkrHoldTest, HoldsThoughNoDescriptorCanBeHad) {
  std::optional<Lease> held = Acquired(other());
  auto zkr = StartHold("(" + UntilGo() + ")");
  ASSERT_TRUE(AwaitQueue(2));
  const pid_t pid = testing::DescendantOf(zkr->pid(), "zkr");
  ASSERT_GT(pid, 0);
  const rlimit one = {5, 5};  // of which four are open, and it takes two
  ASSERT_EQ(prlimit(pid, RLIMIT_NOFILE, &one, nullptr), 0);
  held.reset();
  ASSERT_TRUE(Eventually([&] { return !zkr->Out().empty(); }));
  auto busy = StartLock("echo ran", {"-n"});
  EXPECT_EQ(busy->Wait(), 75);
  EXPECT_TRUE(zkr->Result().is_null());
  Go();
  ASSERT_TRUE(Eventually([&] { return !zkr->Result().is_null(); }));
  EXPECT_EQ(zkr->Result()["result"], "ran");
  EXPECT_EQ(zkr->Result()["status"], 0);
  EXPECT_THAT(Queue(), IsEmpty()) << "it waits for the release, too";
  EXPECT_THAT(zkr->Err(), ::testing::Not(HasSubstr("cannot watch")));
}

TEST_F(ZkrHoldTest, TellsOnceWhomItWaitsForUnlessItIsToldNotTo) {
  std::optional<Lease> held = Acquired(other());
  auto told = StartLock("exit 0");
  auto quiet = StartLock("exit 0", {"-q"});
  ASSERT_TRUE(AwaitQueue(3));
  ASSERT_TRUE(Eventually([&] { return absl::StrContains(told->Err(), "; held by "); }));
  EXPECT_THAT(told->Err(), HasSubstr("zkr: waiting for " + node_path() + ": "));
  held.reset();
  EXPECT_EQ(told->Wait(), 0);
  EXPECT_EQ(quiet->Wait(), 0);
  EXPECT_THAT(quiet->Err(), IsEmpty());
}

TEST_F(ZkrHoldTest, TellsOfAnOutageAndOfItsEnd) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  auto zkr = StartLock(Holding("echo up >&9; " + UntilGo()), {"--session-timeout", "60s"});
  ASSERT_TRUE(life_.WaitFor("up"));
  for (int i = 0; i < members().size(); ++i) ASSERT_TRUE(members().Kill(i).ok());
  ASSERT_TRUE(Eventually([&] { return zkr->Err().ends_with("zkr: connection lost\n"); }));
  ASSERT_TRUE(ensemble().Heal().ok());
  ASSERT_TRUE(Eventually(
      [&] { return zkr->Err().ends_with("zkr: connection lost\nzkr: connected again\n"); }));
  Go();
  EXPECT_EQ(zkr->Wait(), 0);
}

TEST_F(ZkrHoldTest, EndsAtOnceAfterALossThoughNoServerAnswers) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  auto zkr = StartLock(Holding("echo up >&9; exec sleep 1000"),
                       {"--session-timeout", "6s", "--grace", "0s"});
  ASSERT_TRUE(life_.WaitFor("up"));
  for (int i = 0; i < members().size(); ++i) ASSERT_TRUE(members().Pause(i).ok());
  ASSERT_TRUE(life_.WaitUntilCut());
  const absl::Time dead = absl::Now();
  EXPECT_EQ(zkr->Wait(), 70);
  EXPECT_LT(absl::Now() - dead, absl::Seconds(5));  // less than the session timeout
  EXPECT_TRUE(ensemble().Heal().ok());
}

}  // namespace
}  // namespace zkrecipes::integration

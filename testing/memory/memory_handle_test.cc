// SPDX-License-Identifier: Apache-2.0
//
// The contract of lib/zk/seam/handle.h, kept by the handle to the ensemble in memory.

#include "testing/memory/memory_handle.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "testing/memory/simulation.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using zk::Code;
using zk::CreateMode;

const zk::Create kCreate{"/n", "", CreateMode::kPersistent};

// Writes down what it hears.
class Listener : public zk::HandleListener {
 public:
  explicit Listener(std::vector<std::string>* log) : log_(*log) {}
  void OnConnected(zk::SessionId session, absl::Duration timeout,
                   base::BootTime began_at) override {
    began = began_at;
    session_id = session;
    negotiated = timeout;
    log_.push_back("connected");
  }
  void OnDisconnected(int attempt) override {
    log_.push_back(absl::StrCat("disconnected ", attempt));
  }
  void OnEnded(Code why) override { log_.push_back("ended " + zk::CodeName(why)); }
  void OnWatch(const std::string& path, zk::WatchEvent) override {
    log_.push_back("watch " + path);
  }

  zk::SessionId session_id = 0;
  absl::Duration negotiated;
  base::BootTime began;

 private:
  std::vector<std::string>& log_;
};

class UnconnectedHandleTest : public ::testing::Test {
 protected:
  UnconnectedHandleTest() {
    zk::HandleOptions options;
    options.servers = zk::NumericServers{"0", "1", "2"};
    options.seed = 3;  // the first in the list first
    handle_ = *host_->Open(options, &listener_);
  }

  void Send(const zk::Request& request, const std::string& name) {
    handle_->Send(request, [this, name](const zk::Reply& reply) {
      log_.push_back(absl::StrCat(name, " ", zk::CodeName(reply.code)));
    });
  }
  std::vector<std::string> Log() { return std::exchange(log_, {}); }
  ModelEnsemble& model() { return simulation_.ensemble(); }
  void PassTime(absl::Duration d) { simulation_.RunUntil(simulation_.now() + d); }
  std::vector<std::string> LogAfter(absl::Duration d) {
    PassTime(d);
    return Log();
  }

  Simulation simulation_;
  std::shared_ptr<Host> host_ = simulation_.AddHost();
  std::vector<std::string> log_;
  Listener listener_{&log_};
  std::unique_ptr<zk::Handle> handle_;
};

class MemoryHandleTest : public UnconnectedHandleTest {
 protected:
  void SetUp() override {
    simulation_.RunUntilIdle();
    ASSERT_THAT(Log(), ElementsAre("connected"));
  }
  // A node that the client watches.
  void CreateAndWatch() {
    Send(kCreate, "create");
    Send(zk::WatchNode{"/n"}, "watch");
    simulation_.RunUntilIdle();
    EXPECT_THAT(Log(), ElementsAre("create ZOK", "watch ZOK"));
  }
};

TEST_F(UnconnectedHandleTest, RefusesToSendWithoutAConnection) {
  Send(kCreate, "create");
  EXPECT_THAT(Log(), IsEmpty());
  host_->RunTask();
  EXPECT_THAT(Log(), ElementsAre("create ZCONNECTIONLOSS"));
}

TEST_F(MemoryHandleTest, TellsOfALossBeforeItFailsWhatIsPending) {
  Send(kCreate, "create");
  host_->BreakConnections();
  EXPECT_THAT(Log(), ElementsAre("disconnected 0", "create ZCONNECTIONLOSS"));
}

TEST_F(MemoryHandleTest, CountsFailedAttempts) {
  host_->set_network(Host::Network::kDown);
  auto log = LogAfter(absl::Seconds(1));
  ASSERT_GE(log.size(), 3u);
  log.resize(3);
  EXPECT_THAT(log, ElementsAre("disconnected 0", "disconnected 1", "disconnected 2"));
}

TEST_F(MemoryHandleTest, SetsItsWatchesAgainBeforeItSaysThatItIsConnected) {
  CreateAndWatch();
  host_->BreakConnections();
  model().OperatorDeletes("/n", simulation_.now());
  EXPECT_THAT(LogAfter(absl::Seconds(1)), ElementsAre("disconnected 0", "connected", "watch /n"));
}

TEST_F(MemoryHandleTest, TellsOnceOfADeletionThatFiresBothKindsAfterAReconnection) {
  CreateAndWatch();
  Send(zk::WatchExists{"/n"}, "exists");
  Send(zk::WatchExists{"/absent"}, "exists");
  simulation_.RunUntilIdle();
  EXPECT_THAT(Log(), ElementsAre("exists ZOK", "exists ZNONODE"));
  host_->BreakConnections();
  model().OperatorDeletes("/n", simulation_.now());
  model().OperatorCreates("/absent", {}, simulation_.now());
  EXPECT_THAT(LogAfter(absl::Seconds(1)),
              ElementsAre("disconnected 0", "connected", "watch /n", "watch /absent"));
}

TEST_F(MemoryHandleTest, AWatchThatFiredIsNotSetAgain) {
  CreateAndWatch();
  model().OperatorDeletes("/n", simulation_.now());
  simulation_.RunUntilIdle();
  host_->BreakConnections();
  EXPECT_THAT(LogAfter(absl::Seconds(1)), ElementsAre("watch /n", "disconnected 0", "connected"));
}

TEST_F(MemoryHandleTest, DoesNotRemoveWatchesThatItDoesNotKnowOf) {
  Send(zk::RemoveWatches{"/n"}, "remove");
  EXPECT_FALSE(host_->CanDeliver());
  host_->RunTask();
  EXPECT_THAT(Log(), ElementsAre("remove ZNOWATCHER"));
}

TEST_F(MemoryHandleTest, TellsOfExpiryOnceItIsConnectedAgain) {
  model().Expire(listener_.session_id, simulation_.now());
  EXPECT_THAT(LogAfter(absl::Seconds(1)), ElementsAre("disconnected 0", "ended ZSESSIONEXPIRED"));
  Send(kCreate, "create");
  EXPECT_THAT(LogAfter(absl::ZeroDuration()), ElementsAre("create ZSESSIONEXPIRED"));
}

TEST_F(MemoryHandleTest, GivesUpAServerThatIsSilentForTwoThirdsOfTheTimeout) {
  host_->set_network(Host::Network::kSilent);
  Send(kCreate, "create");
  EXPECT_THAT(LogAfter(absl::Milliseconds(6660)), IsEmpty());
  EXPECT_THAT(LogAfter(absl::Milliseconds(10)),
              ElementsAre("disconnected 0", "create ZOPERATIONTIMEOUT"));
}

TEST_F(MemoryHandleTest, WhatIsSentInSilenceNeverArrives) {
  host_->set_network(Host::Network::kSilent);
  Send(kCreate, "create");
  PassTime(absl::Seconds(7));  // it has hung up
  host_->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(1));
  EXPECT_EQ(model().committed().Find("/n"), nullptr);
}

TEST_F(MemoryHandleTest, WhatIsDroppedOnTheWayToOneServerIsSaidToAnother) {
  const int server = *host_->ConnectedTo();
  host_->set_drops(server, true);
  Send(kCreate, "create");
  PassTime(absl::Seconds(8));
  EXPECT_THAT(Log(), ::testing::Contains("create ZOPERATIONTIMEOUT"));
  ASSERT_TRUE(host_->ConnectedTo().has_value());
  EXPECT_NE(*host_->ConnectedTo(), server);
  host_->set_drops(server, false);
  PassTime(absl::Seconds(1));
  EXPECT_EQ(model().committed().Find("/n"), nullptr);
}

TEST_F(MemoryHandleTest, SaysSinceWhenItWasConnectingHoweverLateItReadsTheAnswer) {
  host_->BreakConnections();
  const base::BootTime broken = simulation_.now();
  PassTime(absl::Milliseconds(600));  // the backoff's longest pause
  host_->set_paused(true);
  PassTime(absl::Seconds(2));
  host_->set_paused(false);
  simulation_.RunUntilIdle();
  EXPECT_GE(listener_.began, broken);
  EXPECT_LE(listener_.began, broken + absl::Milliseconds(600));
}

TEST_F(MemoryHandleTest, AnswersWhatIsPendingBeforeCloseReturns) {
  Send(kCreate, "create");
  handle_->Close();
  EXPECT_THAT(Log(), ElementsAre("create ZCLOSING"));
  handle_->Close();  // idempotent
}

TEST_F(MemoryHandleTest, AnEndOfItsSessionIsConfirmedAndThenItDoesNothingMore) {
  std::optional<zk::Code> ended;
  handle_->EndSession([&ended](const zk::Reply& reply) { ended = reply.code; });
  simulation_.RunUntilIdle();
  EXPECT_EQ(ended, zk::Code::kOk);
  EXPECT_FALSE(model().SessionLives(listener_.session_id));
  PassTime(absl::Seconds(5));
  EXPECT_TRUE(model().connections().empty());
}

TEST_F(MemoryHandleTest, AnEndThatIsNotAnsweredIsLostWithTheConnection) {
  std::optional<zk::Code> ended;
  handle_->EndSession([&ended](const zk::Reply& reply) { ended = reply.code; });
  host_->BreakConnections();
  simulation_.RunUntilIdle();
  EXPECT_EQ(ended, zk::Code::kConnectionLoss);
}

TEST_F(MemoryHandleTest, TheSessionOutlivesACloseThatTheServerNeverReads) {
  const ConnectionId connection = model().connections().front();
  handle_->Close();
  model().DropUnread(connection);
  simulation_.RunUntilIdle();
  EXPECT_TRUE(model().SessionLives(listener_.session_id));
  PassTime(absl::Seconds(11));
  EXPECT_FALSE(model().SessionLives(listener_.session_id));
}

TEST_F(MemoryHandleTest, IsSafeToDestroyWithTimersAndTasksPending) {
  Send(zk::RemoveWatches{"/n"}, "remove");
  handle_.reset();
  EXPECT_THAT(LogAfter(absl::Seconds(30)), ElementsAre("remove ZNOWATCHER"));
}

TEST_F(UnconnectedHandleTest, AFastClocksTimersAreDueEarlier) {
  host_->set_clock_rate(1.25);
  const base::BootTime start = simulation_.now();
  bool ran = false;
  host_->CallAt(host_->Now() + absl::Seconds(10), [&] { ran = true; });
  simulation_.RunUntil(start + absl::Milliseconds(7999));
  EXPECT_FALSE(ran);
  simulation_.RunUntil(start + absl::Milliseconds(8001));
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace zkrecipes::testing::memory

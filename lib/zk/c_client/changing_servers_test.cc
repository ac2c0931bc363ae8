// SPDX-License-Identifier: Apache-2.0
//
// Which server a handle goes to, what it says of each, and what it takes along.

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/zk/c_client/handle_test_fixture.h"
#include "lib/zk/c_client/scripted_server_fixture.h"
#include "lib/zk/wire/jute_reader.h"
#include "lib/zk/wire/wire_fixture.h"

namespace zkrecipes::zk::c_client {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kTheSession = 77;

// Welcomes whoever connects, and says yes to everything.
struct GoodServer {
  std::string Answer(int number, const std::string& frame) {
    wire::JuteReader reader(frame);
    if (number == 0) {
      reader.Bytes(16);
      sessions.push_back(reader.Long());
      return welcomes ? wire::Frame(wire::Welcome(kTheSession)) : "";
    }
    const int32_t xid = reader.Int();
    types.push_back(reader.Int());
    if (types.back() == wire::kSetAuth) {
      reader.Int();
      reader.String();
      credentials.emplace_back(reader.String());
    }
    const bool list = types.back() == wire::kGetChildren;
    return wire::Frame(wire::Reply(xid, list ? wire::Names({}) : ""));
  }

  bool welcomes = true;
  std::vector<int64_t> sessions;  // that the clients asked for
  std::vector<int32_t> types;     // of their requests
  std::vector<std::string> credentials;
  ScriptedServer server{[this](int number, const std::string& f) { return Answer(number, f); }};
};

class ChangingServersTest : public HandleTest {
 protected:
  ChangingServersTest() {
    steps_ = {[this] { a_.server.Step(); }, [this] { b_.server.Step(); }};
  }
  void TearDown() override {
    HandleTest::TearDown();
    if (diary_.connected > 0) {
      EXPECT_EQ(diary_.session, kTheSession);
    }
    EXPECT_EQ(diary_.ended, std::nullopt);
  }
  static std::string ClosedPort() { return ScriptedServer({}).address(); }

  GoodServer a_, b_;
};

TEST_F(ChangingServersTest, SaysOfEachServerWhatItDid) {
  ScriptedServer silent([](int, const std::string&) { return ""; });
  ScriptedServer hangs_up([](int, const std::string&) { return ""; });
  ScriptedServer mail([](int, const std::string&) { return ""; }, std::string(60, 'm'));
  steps_.push_back([&silent] { silent.Step(); });
  steps_.push_back([&mail] { mail.Step(); });
  steps_.push_back([&hangs_up] { hangs_up.Step(); });
  steps_.push_back([&hangs_up] { hangs_up.HangUp(); });
  const std::string closed = ClosedPort();
  Open({closed, silent.address(), hangs_up.address(), mail.address(), a_.server.address()});
  ASSERT_TRUE(RunUntilConnected());
  EXPECT_THAT(
      diary_.failures,
      ElementsAre(
          closed + " refused the connection",
          silent.address() + " took the connection, but said nothing in time",
          hangs_up.address() + " closed the connection during the handshake, as a server "
                               "does that has no quorum, speaks TLS, or has maxClientCnxns "
                               "connections of this host",
          mail.address() + " does not speak ZooKeeper: it says \"" + std::string(32, 'm') + "\""));
  using enum NoConnection;
  EXPECT_THAT(diary_.causes, ElementsAre(kRefused, kSilent, kHungUp, kNotZooKeeper));
  EXPECT_THAT(diary_.attempts, ElementsAre(1, 2, 3, 4));
  a_.server.HangUp();
  ASSERT_TRUE(RunUntil([this] { return diary_.failures.size() > 4; }));
  EXPECT_EQ(diary_.failures[4], a_.server.address() + " closed the connection");
}

// The kernel then says ECONNRESET or EPIPE instead of that there is a connection.
TEST_F(ChangingServersTest, AConnectionThatIsResetBeforeTheHandshakeIsSentWasHungUp) {
  ScriptedServer resets([](int, const std::string&) { return ""; });
  ScriptedServer ends_first([](int, const std::string&) { return ""; });
  for (ScriptedServer* server : {&resets, &ends_first}) {
    steps_.push_back([server, end = server == &ends_first] {
      server->Step();
      server->Reset(end);
    });
  }
  Open({resets.address(), ends_first.address(), a_.server.address()});
  ASSERT_TRUE(RunUntilConnected());
  const testing::Matcher<std::string> too_many = testing::HasSubstr("or has maxClientCnxns");
  EXPECT_THAT(diary_.failures, ElementsAre(too_many, too_many));
  EXPECT_THAT(diary_.causes, ElementsAre(NoConnection::kHungUp, NoConnection::kHungUp));
}

// An even number of servers, with which the C client's own choice of the next one is broken.
TEST_F(ChangingServersTest, TriesTwoServersInTurnUntilOneIsBackAndDoesNotSpin) {
  const std::string first = ClosedPort();
  const std::string second = ClosedPort();
  Open({first, second});
  RunFor(absl::Seconds(20));
  EXPECT_EQ(std::set<std::string>(diary_.failures.begin(), diary_.failures.end()).size(), 2u);
  EXPECT_GT(diary_.failures.size(), 5u);
  EXPECT_LT(diary_.failures.size(), 100u);
  handle_->SetServers(NumericServers{first, a_.server.address()}, /*leave=*/true);
  EXPECT_TRUE(RunUntilConnected());
}

TEST_F(ChangingServersTest, TheListMayHaveAddressesOfBothFamilies) {
  Open({"[::1]:1", a_.server.address(), "[::1]:2"});
  ASSERT_TRUE(RunUntilConnected());
  ASSERT_EQ(diary_.failures.size(), 1u);
  EXPECT_THAT(diary_.failures[0], testing::StartsWith("[::1]:1 "));
  EXPECT_EQ(handle_->server(), a_.server.address());
}

TEST_F(ChangingServersTest, TheSessionGoesOnAtAnotherServerWithItsWatches) {
  Open({a_.server.address()});
  ASSERT_TRUE(RunUntilConnected());
  ASSERT_EQ(CodeOf(WatchNode{"/watched"}), Code::kOk);
  EXPECT_EQ(handle_->server(), a_.server.address());

  // They differ in the port only, which is why zoo_set_servers would see no difference.
  handle_->SetServers(NumericServers{b_.server.address()}, /*leave=*/true);
  ASSERT_TRUE(RunUntilConnected(2));
  EXPECT_EQ(handle_->server(), b_.server.address());
  EXPECT_THAT(a_.sessions, ElementsAre(0));
  EXPECT_THAT(b_.sessions, ElementsAre(kTheSession));
  EXPECT_EQ(CodeOf(GetChildren{"/"}), Code::kOk);
  EXPECT_THAT(b_.types, ElementsAre(wire::kSetWatches, wire::kGetChildren));
  a_.server.Step();
  EXPECT_EQ(a_.server.open(), 0u);
}

TEST_F(ChangingServersTest, AConnectionToAServerThatStaysInTheListIsLeftAlone) {
  Open({a_.server.address()});
  ASSERT_TRUE(RunUntilConnected());
  handle_->SetServers(NumericServers{b_.server.address(), a_.server.address()}, /*leave=*/true);
  RunFor(absl::Seconds(1));
  EXPECT_EQ(CodeOf(GetChildren{"/"}), Code::kOk);
  EXPECT_THAT(diary_.attempts, IsEmpty());
  a_.server.HangUp();  // and then the new list is tried from its beginning
  ASSERT_TRUE(RunUntilConnected(2));
  EXPECT_THAT(b_.sessions, ElementsAre(kTheSession));
}

TEST_F(ChangingServersTest, AnAttemptAtARemovedServerEndsAtOnce) {
  ScriptedServer silent([](int, const std::string&) { return ""; });
  steps_.push_back([&silent] { silent.Step(); });
  Open({silent.address()});
  ASSERT_TRUE(RunUntil([&] { return silent.connections() > 0; }));
  const base::BootTime changed = driver_.Now();
  handle_->SetServers(NumericServers{b_.server.address()}, /*leave=*/true);
  ASSERT_TRUE(RunUntilConnected());
  EXPECT_LT(driver_.Now() - changed, absl::Seconds(1)) << "it would have had 3.3 s";
}

TEST_F(ChangingServersTest, AListThatNamesFoundKeepsAConnectionToAServerThatItLacks) {
  Open({a_.server.address()});
  ASSERT_TRUE(RunUntilConnected());
  handle_->SetServers(NumericServers{b_.server.address()}, /*leave=*/false);
  RunFor(absl::Milliseconds(200));
  EXPECT_EQ(CodeOf(GetChildren{"/"}), Code::kOk);
  EXPECT_EQ(handle_->server(), a_.server.address());
  a_.server.HangUp();
  ASSERT_TRUE(RunUntilConnected(2));
  EXPECT_THAT(b_.sessions, ElementsAre(kTheSession));
}

TEST_F(ChangingServersTest, AServerThatDoesNotAnswerIsLeftForTheNext) {
  Open({a_.server.address(), b_.server.address()});
  ASSERT_TRUE(RunUntilConnected());
  handle_->LeaveServer();
  ASSERT_TRUE(RunUntilConnected(2));
  EXPECT_EQ(handle_->server(), b_.server.address());
  EXPECT_THAT(b_.sessions, ElementsAre(kTheSession));
  EXPECT_THAT(diary_.failures, ElementsAre(a_.server.address() + " did not answer in time"));
}

// Two servers that accept connections and then say nothing, as stopped ones do: T is 10 s.
TEST_F(ChangingServersTest, AServerThatSaysNothingTakesAnEighthOfTheTimeoutOfASessionThatMayLive) {
  ScriptedServer silent([](int, const std::string&) { return ""; });
  steps_.push_back([&silent] { silent.Step(); });
  Open({a_.server.address(), silent.address(), b_.server.address()});
  ASSERT_TRUE(RunUntilConnected());
  const base::BootTime left = driver_.Now();
  handle_->LeaveServer();
  ASSERT_TRUE(RunUntilConnected(2));
  EXPECT_EQ(silent.connections(), 1);
  EXPECT_LT(driver_.Now() - left, absl::Seconds(3)) << "a first attempt would have had 3.3 s";
}

TEST_F(ChangingServersTest, ACredentialIsSentAtOnceAndOnEachLaterConnection) {
  Open({a_.server.address()}, {"u:1"});
  ASSERT_TRUE(RunUntilConnected());
  handle_->SetCredentials({base::Secret("u:1"), base::Secret("v:2")});
  EXPECT_EQ(CodeOf(GetChildren{"/"}), Code::kOk);
  EXPECT_THAT(a_.credentials, ElementsAre("u:1", "v:2"));
  EXPECT_EQ(a_.types.back(), wire::kGetChildren) << "what is sent later comes later";
  handle_->SetServers(NumericServers{b_.server.address()}, /*leave=*/true);
  ASSERT_TRUE(RunUntilConnected(2));
  EXPECT_EQ(CodeOf(GetChildren{"/"}), Code::kOk);
  EXPECT_THAT(b_.credentials, ElementsAre("u:1", "v:2"));
}

TEST_F(ChangingServersTest, ACredentialThatIsTakenAwayEndsTheConnectionAndIsNotSentAgain) {
  Open({a_.server.address()}, {"u:1", "v:2"});
  ASSERT_TRUE(RunUntilConnected());
  EXPECT_EQ(CodeOf(GetChildren{"/"}), Code::kOk);
  handle_->SetCredentials({base::Secret("v:2"), base::Secret("w:3")});
  ASSERT_TRUE(RunUntilConnected(2));
  EXPECT_EQ(CodeOf(GetChildren{"/"}), Code::kOk);
  EXPECT_THAT(a_.credentials, ElementsAre("u:1", "v:2", "v:2", "w:3"));
  EXPECT_THAT(a_.sessions, ElementsAre(0, kTheSession)) << "the session goes on";
}

TEST_F(ChangingServersTest, ACredentialIsTakenAwayThoughTheListIsReplacedInTheSameRound) {
  const auto replace = [this] {
    handle_->SetServers(NumericServers{a_.server.address()}, /*leave=*/true);
  };
  const auto take_away = [this] { handle_->SetCredentials({base::Secret("v:2")}); };
  Open({a_.server.address()}, {"u:1"});
  ASSERT_TRUE(RunUntilConnected());
  take_away();
  replace();
  ASSERT_TRUE(RunUntilConnected(2));
  EXPECT_EQ(CodeOf(GetChildren{"/"}), Code::kOk);
  EXPECT_THAT(a_.credentials, ElementsAre("u:1", "v:2"));
  handle_->SetCredentials({base::Secret("u:1"), base::Secret("v:2")});
  replace();
  take_away();
  ASSERT_TRUE(RunUntilConnected(3));
  EXPECT_EQ(CodeOf(GetChildren{"/"}), Code::kOk);
  EXPECT_EQ(a_.credentials.back(), "v:2");
}

TEST_F(ChangingServersTest, CredentialsAreSentInFrontOfTheWatchesThatAreSetAgain) {
  Open({a_.server.address()}, {"u:1"});
  ASSERT_TRUE(RunUntilConnected());
  EXPECT_EQ(CodeOf(WatchNode{"/a"}), Code::kOk);
  a_.types.clear();
  a_.server.HangUp();
  ASSERT_TRUE(RunUntilConnected(2));
  EXPECT_EQ(CodeOf(GetChildren{"/"}), Code::kOk);
  ASSERT_GE(a_.types.size(), 2u);
  EXPECT_EQ(a_.types.front(), wire::kSetAuth);
}

TEST_F(ChangingServersTest, ACredentialThatComesBetweenTwoConnectionsIsSentOnTheNext) {
  Open({a_.server.address()});
  ASSERT_TRUE(RunUntilConnected());
  a_.server.HangUp();
  ASSERT_TRUE(RunUntil([this] { return !diary_.attempts.empty(); }));
  handle_->SetCredentials({base::Secret("v:2")});
  ASSERT_TRUE(RunUntilConnected(2));
  EXPECT_EQ(CodeOf(GetChildren{"/"}), Code::kOk);
  EXPECT_THAT(a_.credentials, ElementsAre("v:2"));
  EXPECT_THAT(diary_.failures, Not(Contains(testing::HasSubstr("does not speak"))));
}

TEST_F(ChangingServersTest, ACredentialThatComesDuringAHandshakeIsSentAfterItOnce) {
  a_.welcomes = false;
  Open({a_.server.address()});
  ASSERT_TRUE(RunUntil([this] { return !a_.sessions.empty(); }));
  handle_->SetCredentials({base::Secret("v:2")});
  RunFor(absl::Milliseconds(500));
  EXPECT_THAT(a_.types, IsEmpty());
  a_.server.SayToAll(wire::Frame(wire::Welcome(kTheSession)));
  ASSERT_TRUE(RunUntilConnected());
  EXPECT_EQ(CodeOf(GetChildren{"/"}), Code::kOk);
  EXPECT_THAT(a_.credentials, ElementsAre("v:2"));
}

}  // namespace
}  // namespace zkrecipes::zk::c_client

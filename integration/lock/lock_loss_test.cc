// SPDX-License-Identifier: Apache-2.0
//
// Leases and waits that end otherwise than their owners wish: lost sessions, servers and nodes.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/tcp_proxy.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kShortSession = absl::Seconds(2);

class LockLossTest : public ClientTest {
 protected:
  // A client that sees the ensemble only through proxy().
  std::shared_ptr<Client> NewClientBehindProxy(absl::Duration session_timeout) {
    proxy_ = std::make_unique<TcpProxy>(servers().substr(0, servers().find(',')));
    return NewClient({.servers = proxy_->address(), .session_timeout = session_timeout});
  }
  TcpProxy& proxy() { return *proxy_; }

  // As an operator does it.
  void DeleteNode(const std::string& path) {
    auto session = Connect();
    EXPECT_EQ(session->Do(zk::Delete{path}).code, zk::Code::kOk);
  }

  void ExpectLost(Lease lease, const std::string& why) {
    EXPECT_TRUE(Eventually([&] { return lease.lost().stop_requested(); }));
    EXPECT_EQ(lease.state(), Lease::State::kLost);
    EXPECT_EQ(lease.remaining(), absl::ZeroDuration());
    const absl::Status released = std::move(lease).Release({kSoon});
    EXPECT_EQ(released.code(), StatusCode::kAborted) << released;
    EXPECT_THAT(std::string(released.message()), HasSubstr("the lease had been lost: " + why));
  }

 private:
  std::unique_ptr<TcpProxy> proxy_;
};

TEST_F(LockLossTest, AHolderThatIsCutOffLosesItsLeaseAndTheNextIsGranted) {
  auto cut_off = NewClientBehindProxy(kShortSession);
  auto other = NewClient();
  const States states(*cut_off);
  Lease lease = Acquired(cut_off);
  const FencingToken token = lease.token();
  const int64_t session = cut_off->session_id();
  Pending waiter(other, node_path());
  ASSERT_TRUE(AwaitQueue(*other, 2));

  proxy().HoldEverything(true);
  ExpectLost(std::move(lease), "its session could not be proven to be alive");
  auto next = waiter.Get();
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_GT(next->token(), token);

  // It comes back by itself, with a new session, and behind the new holder.
  Pending again(cut_off, node_path());
  proxy().HoldEverything(false);
  ASSERT_TRUE(AwaitQueue(*other, 2));
  EXPECT_FALSE(again.answered());
  EXPECT_NE(cut_off->session_id(), session);
  const FencingToken second = next->token();
  EXPECT_EQ(std::move(*next).Release({kSoon}), absl::OkStatus());
  auto third = again.Get();
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_GT(third->token(), second);
  EXPECT_TRUE(Eventually([&] { return states.seen().size() == 4; }));
  EXPECT_THAT(states.seen(), ElementsAre(ClientState::kConnected, ClientState::kSuspended,
                                         ClientState::kExpired, ClientState::kConnected));
}

TEST_F(LockLossTest, ALeaseSurvivesAReconnectWithinItsSession) {
  auto client = NewClientBehindProxy(absl::Seconds(30));
  const States states(*client);
  const Lease lease = Acquired(client);
  proxy().HoldEverything(true);
  proxy().ResetAll();
  EXPECT_TRUE(Eventually([&] { return lease.state() == Lease::State::kSuspect; }));
  EXPECT_GT(lease.remaining(), absl::ZeroDuration());
  EXPECT_FALSE(lease.lost().stop_requested());
  proxy().HoldEverything(false);
  EXPECT_TRUE(Eventually([&] { return lease.state() == Lease::State::kHeld; }));
  EXPECT_TRUE(Eventually([&] { return states.seen().size() == 3; }));
  EXPECT_THAT(states.seen(), ElementsAre(ClientState::kConnected, ClientState::kSuspended,
                                         ClientState::kConnected));
}

TEST_F(LockLossTest, AWaitThatEndsWhileCutOffLeavesNothingBehind) {
  auto holder = NewClient();
  auto cut_off = NewClientBehindProxy(absl::Seconds(30));
  const Lease lease = Acquired(holder);
  std::stop_source stop;
  Pending timed(cut_off, node_path(), {.timeout = absl::Milliseconds(500)});
  Pending cancelled(cut_off, node_path(), {.cancel = stop.get_token()});
  ASSERT_TRUE(AwaitQueue(*holder, 3));
  proxy().HoldEverything(true);
  proxy().ResetAll();
  stop.request_stop();
  EXPECT_EQ(cancelled.Code(), StatusCode::kCancelled);
  EXPECT_EQ(timed.Code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Queue(*holder).size(), 3u);
  proxy().HoldEverything(false);
  EXPECT_TRUE(AwaitQueue(*holder, 1));
}

TEST_F(LockLossTest, AnAcquireWhoseCreateIsHeldUpLeavesNoNodeBehind) {
  auto observer = NewClient();
  auto cut_off = NewClientBehindProxy(absl::Seconds(30));
  const FencingToken before = Acquired(cut_off).token();
  ASSERT_TRUE(AwaitQueue(*observer, 0));
  proxy().HoldReplies(true);
  auto late = Lock(cut_off, node_path()).Acquire({absl::Milliseconds(200)});
  EXPECT_EQ(late.status().code(), StatusCode::kDeadlineExceeded) << late.status();
  ASSERT_TRUE(AwaitQueue(*observer, 1));
  proxy().ResetAll();  // the reply is lost for good
  proxy().HoldReplies(false);
  EXPECT_TRUE(AwaitQueue(*observer, 0));
  EXPECT_GT(Acquired(cut_off).token(), before);
}

TEST_F(LockLossTest, AReleaseThatIsNotConfirmedInTimeGoesOnInTheBackground) {
  auto cut_off = NewClientBehindProxy(absl::Seconds(30));
  auto observer = NewClient();
  Lease lease = Acquired(cut_off);
  const std::stop_token lost = lease.lost();
  ASSERT_TRUE(AwaitQueue(*observer, 1));
  proxy().HoldEverything(true);
  const absl::Status released = std::move(lease).Release({absl::Milliseconds(100)});
  EXPECT_EQ(released.code(), StatusCode::kDeadlineExceeded) << released;
  EXPECT_THAT(std::string(released.message()), HasSubstr("goes on in the background"));
  EXPECT_TRUE(Eventually([&] { return lost.stop_requested(); }));
  EXPECT_EQ(Queue(*observer).size(), 1u);
  proxy().ResetAll();  // what was sent is lost
  proxy().HoldEverything(false);
  EXPECT_TRUE(AwaitQueue(*observer, 0));
}

TEST_F(LockLossTest, TheHolderLearnsThatItsNodeWasDeletedAndTheNextIsGranted) {
  auto holder = NewClient({.session_timeout = kShortSession});
  auto other = NewClient();
  Lease lease = Acquired(holder);
  const FencingToken token = lease.token();
  Pending waiter(other, node_path());
  ASSERT_TRUE(AwaitQueue(*other, 2));
  DeleteNode(lease.node());
  ExpectLost(std::move(lease), "somebody else deleted its node");
  auto next = waiter.Get();
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_GT(next->token(), token);
}

TEST_F(LockLossTest, AWaiterWhoseNodeWasDeletedIsToldAndDoesNotQueueAgain) {
  auto holder = NewClient();
  auto other = NewClient({.session_timeout = kShortSession});
  const Lease lease = Acquired(holder);
  Pending first(other, node_path());
  ASSERT_TRUE(AwaitQueue(*holder, 2));
  Pending second(other, node_path());
  ASSERT_TRUE(AwaitQueue(*holder, 3));
  DeleteNode(node_path() + "/" + Queue(*holder)[1].node);
  const absl::Status told = first.Get().status();
  EXPECT_EQ(told.code(), StatusCode::kAborted) << told;
  EXPECT_THAT(std::string(told.message()), HasSubstr(node_path() + ": somebody else deleted"));
  EXPECT_TRUE(AwaitQueue(*holder, 2));
  EXPECT_EQ(lease.state(), Lease::State::kHeld);
  EXPECT_FALSE(second.answered());
}

TEST_F(LockLossTest, ALeaseSurvivesTheLeadersDeathAndTheWaiterGetsItsTurn) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  auto holder = NewClient({.session_timeout = absl::Seconds(30)});
  auto other = NewClient({.session_timeout = absl::Seconds(30)});
  Lease lease = Acquired(holder);
  Pending waiter(other, node_path());
  ASSERT_TRUE(AwaitQueue(*other, 2));
  const absl::StatusOr<int> leader = members().Leader();
  ASSERT_TRUE(leader.ok()) << leader.status();
  ASSERT_EQ(members().Kill(*leader), absl::OkStatus());
  ASSERT_EQ(ensemble().WaitForQuorum(kSoon), absl::OkStatus());
  EXPECT_TRUE(Eventually([&] { return lease.state() == Lease::State::kHeld; }));
  EXPECT_FALSE(lease.lost().stop_requested());
  EXPECT_FALSE(waiter.answered());
  const FencingToken token = lease.token();
  EXPECT_EQ(std::move(lease).Release({kSoon}), absl::OkStatus());
  auto next = waiter.Get();
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_GT(next->token(), token);
}

TEST_F(LockLossTest, ALeaseThatLapsedWithoutAQuorumStaysLostAndTheLockCanBeHadAgain) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  auto holder = NewClient({.session_timeout = kShortSession});
  auto other = NewClient();  // still proven after the pause, or its lease would end soon too
  std::optional<Lease> lease = Acquired(holder);
  const FencingToken token = lease->token();
  Pending waiter(other, node_path());
  ASSERT_TRUE(AwaitQueue(*other, 2));
  for (int i = 0; i < members().size(); ++i) ASSERT_EQ(members().Pause(i), absl::OkStatus());
  EXPECT_TRUE(Eventually([&] { return lease->lost().stop_requested(); }));
  EXPECT_EQ(lease->state(), Lease::State::kLost);
  EXPECT_FALSE(waiter.answered());
  ASSERT_EQ(ensemble().Heal(), absl::OkStatus());
  auto next = waiter.Get();
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_GT(next->token(), token);
  EXPECT_EQ(lease->state(), Lease::State::kLost);
  Pending again(holder, node_path());
  const FencingToken second = next->token();
  EXPECT_TRUE(AwaitQueue(*holder, 2));
  next = absl::UnknownError("released");
  auto third = again.Get();
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_GT(third->token(), second);
}

}  // namespace
}  // namespace zkrecipes::integration

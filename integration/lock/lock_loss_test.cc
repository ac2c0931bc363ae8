// SPDX-License-Identifier: Apache-2.0
//
// Leases that their holders lose, and releases that are not confirmed: what LossInAWorld cannot play.

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/forked_child.h"
#include "integration/servers/tcp_proxy.h"

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

 private:
  std::unique_ptr<TcpProxy> proxy_;
};

// The network is silent; LossInAWorld breaks connections.
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
  EXPECT_TRUE(Eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_EQ(lease.state(), Lease::State::kLost);
  EXPECT_EQ(lease.remaining(), absl::ZeroDuration());
  const absl::Status released = std::move(lease).Release({kSoon});
  EXPECT_EQ(released.code(), StatusCode::kAborted) << released;
  EXPECT_THAT(std::string(released.message()),
              HasSubstr("the lease had been lost: its session could not be proven to be alive"));
  auto next = waiter.Get();
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_GT(next->token(), token);

  // The client comes back by itself, with a new session, and queues behind the new holder.
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

TEST_F(LockLossTest, ALeaseThatLapsedWithoutAQuorumStaysLostAndTheLockCanBeHadAgain) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  auto holder = NewClient({.session_timeout = kShortSession});
  auto other = NewClient();  // with a timeout so long that its lease outlives the pause
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

// The holder's process is stopped for longer than its session lives.
class LockPauseTest : public ClientTest {};

TEST_F(LockPauseTest, AStoppedHolderReadsThatItLostInItsFirstCall) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends a forked child that starts a thread";
#endif
  ForkedChild holder([this](Line& line) {
    auto client = NewClient({.session_timeout = absl::Seconds(2)});
    const Lease lease = Acquired(client);
    EXPECT_EQ(lease.state(), Lease::State::kHeld);
    line.Say();
    EXPECT_TRUE(line.Hear());  // said while this process was stopped
    EXPECT_EQ(lease.state(), Lease::State::kLost);
    EXPECT_EQ(lease.remaining(), absl::ZeroDuration());
    EXPECT_EQ(lease.Verify({kSoon}).code(), absl::StatusCode::kAborted);
    EXPECT_TRUE(Eventually([&] { return lease.lost().stop_requested(); }));
  });
  ASSERT_TRUE(holder.line().Hear());
  auto other = NewClient();
  Pending waiter(other, node_path());
  ASSERT_TRUE(AwaitQueue(*other, 2));

  ASSERT_EQ(kill(holder.pid(), SIGSTOP), 0);
  holder.line().Say();
  EXPECT_TRUE(waiter.Get().ok());
  ASSERT_EQ(kill(holder.pid(), SIGCONT), 0);
  holder.Wait();
}

}  // namespace
}  // namespace zkrecipes::integration

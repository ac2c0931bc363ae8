// SPDX-License-Identifier: Apache-2.0
//
// Lease::Verify, and how soon holders and waiters learn that an operator deleted their nodes.

#include <future>
#include <string>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

#include "integration/fixtures/raw_client.h"
#include "integration/lease/lease_fixture.h"
#include "integration/servers/tcp_proxy.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using base::BootNow;
using base::BootTime;

constexpr absl::Duration kShortWait = absl::Milliseconds(300);

class LeaseVerifyTest : public LeaseTest {
 protected:
  static constexpr absl::Duration kTimeout = absl::Seconds(2);

  static std::future<absl::Status> VerifyAsync(const Lease& lease) {
    return std::async(std::launch::async, [&lease] { return lease.Verify({kSoon}); });
  }
  void Delete(const std::string& node) {
    auto operators = Connect(Leader());
    EXPECT_EQ(operators->Do(zk::Delete{node}).code, zk::Code::kOk);
  }
  // Prints the time until `told`: about a beat. It may take up to a session timeout.
  template <typename F>
  void ExpectWithinATimeout(const char* who, absl::Duration timeout, F told) {
    const BootTime deleted = BootNow();
    EXPECT_TRUE(Eventually(told));
    const absl::Duration after = BootNow() - deleted;
    printf("  %s learns it after %s\n", who, Milliseconds(after).c_str());
    EXPECT_LT(after, timeout);
  }
};

TEST_F(LeaseVerifyTest, IsOkWhileTheLeaseIsHeld) {
  for (int member = 0; member < ensemble().size(); ++member) {
    auto client = NewClient(member, {.session_timeout = kTimeout});
    const Lease lease = Acquired(client, NewPath());
    EXPECT_EQ(lease.Verify({kSoon}), absl::OkStatus());
  }
}

TEST_F(LeaseVerifyTest, IsNeverOkOnceAnotherHoldsTheLockThoughTheServerIsCutOff) {
  const int follower = Follower();
  const std::string path = NewPath();
  // The clock alone does not end its leases, so that Verify has to ask the quorum.
  auto client = NewClient(
      follower, {.session_timeout = kTimeout, .lease = {.ends_at = LeaseOptions::EndsAt::kExpiry}});
  const Lease lease = Acquired(client, path);
  auto other = NewClient(Leader(), {.session_timeout = absl::Minutes(1)});
  Pending next(other, path);
  ASSERT_EQ(lease.Verify({kSoon}), absl::OkStatus());
  CutOff(follower);
  ASSERT_TRUE(Eventually([&] { return next.answered(); }));
  EXPECT_NE(lease.state(), Lease::State::kLost);
  EXPECT_EQ(lease.Verify({kShortWait}).code(), StatusCode::kDeadlineExceeded);
  auto verified = VerifyAsync(lease);
  MakeWhole();
  EXPECT_EQ(verified.get().code(), StatusCode::kAborted);
  EXPECT_EQ(lease.Verify({kSoon}).code(), StatusCode::kAborted);
}

TEST_F(LeaseVerifyTest, IsNotOkThoughTheServerHasNotHeardYetThatTheSessionEnded) {
  const int follower = Follower();
  const std::string path = NewPath();
  auto client = NewClient(follower, {.session_timeout = absl::Seconds(30)});
  const Lease lease = Acquired(client, path);
  auto other = NewClient(Leader(), {.session_timeout = absl::Minutes(1)});
  Pending next(other, path);
  CutOff(follower);  // so that it lags
  ASSERT_TRUE(EndSession(ensemble().server(Leader()), client->session_id()));
  ASSERT_TRUE(Eventually([&] { return next.answered(); }));
  EXPECT_EQ(lease.state(), Lease::State::kHeld);
  auto verified = VerifyAsync(lease);
  EXPECT_EQ(lease.Verify({kShortWait}).code(), StatusCode::kDeadlineExceeded);
  Mend(follower);
  EXPECT_EQ(verified.get().code(), StatusCode::kAborted);
}

TEST_F(LeaseVerifyTest, WaitsForAConnectionAsLongAsItMay) {
  TcpProxy proxy(ensemble().server(0));
  auto client = NewClient({.servers = proxy.address(), .session_timeout = absl::Seconds(30)});
  const Lease lease = Acquired(client, NewPath());
  const States states(*client);
  proxy.HoldEverything(true);
  proxy.ResetAll();
  ASSERT_TRUE(states.Await(ClientState::kSuspended));
  const BootTime asked = BootNow();
  EXPECT_EQ(lease.Verify({kShortWait}).code(), StatusCode::kDeadlineExceeded);
  EXPECT_LT(BootNow() - asked, absl::Seconds(10));
  auto verified = VerifyAsync(lease);
  proxy.HoldEverything(false);
  EXPECT_EQ(verified.get(), absl::OkStatus());
}

TEST_F(LeaseVerifyTest, AHolderAndAWaiterLearnWithinABeatThatTheirNodesWereDeleted) {
  constexpr absl::Duration kLong = absl::Seconds(10);
  const std::string path = NewPath();
  auto first = NewClient(Follower(), {.session_timeout = kLong});
  auto second = NewClient(Follower(), {.session_timeout = kLong});
  auto observer = NewClient({.session_timeout = absl::Minutes(1)});
  // Before the first beat, which watches the own node, and after several.
  for (const absl::Duration age : {absl::ZeroDuration(), kLong / 4}) {
    const Lease lease = Acquired(first, path);
    Pending waiter(second, path);
    ASSERT_TRUE(Eventually([&] { return ListContenders(*observer, path, {kSoon})->size() == 2; }));
    const std::string waiting = path + "/" + (*ListContenders(*observer, path, {kSoon}))[1].node;
    absl::SleepFor(age);
    Delete(waiting);
    ExpectWithinATimeout("a waiter", kLong, [&] { return waiter.answered(); });
    EXPECT_EQ(waiter.Code(), StatusCode::kAborted);
    EXPECT_EQ(lease.Verify({kSoon}), absl::OkStatus());
    Delete(lease.node());
    ExpectWithinATimeout("a holder", kLong, [&] { return lease.lost().stop_requested(); });
    EXPECT_EQ(lease.state(), Lease::State::kLost);
    EXPECT_EQ(lease.Verify({kSoon}).code(), StatusCode::kAborted);
  }
}

}  // namespace
}  // namespace zkrecipes::integration

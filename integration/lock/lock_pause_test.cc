// SPDX-License-Identifier: Apache-2.0
//
// The holder's process stands still for longer than its session lives.

#include <csignal>

#include "absl/time/time.h"
#include "gtest/gtest.h"

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/forked_child.h"

namespace zkrecipes::integration {
namespace {

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
    EXPECT_TRUE(line.Hear());  // what was said while this process stood still
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

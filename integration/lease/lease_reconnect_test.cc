// SPDX-License-Identifier: Apache-2.0
//
// How many leases outlive the loss of a connection, a server or the leader. Their sessions survive;
// the question is how often that is proven in time.

#include <memory>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

#include "integration/lease/lease_fixture.h"
#include "integration/servers/tcp_proxy.h"

namespace zkrecipes::integration {
namespace {

using base::BootNow;
using base::BootTime;

class LeaseReconnectTest : public LeaseTest, public ::testing::WithParamInterface<absl::Duration> {
 protected:
  static absl::Duration timeout() { return GetParam(); }
  // How many of `runs` leases are held for longer than had been proven before `trouble`, which strikes
  // between any two beats. The others must be known to be lost.
  template <typename Trouble, typename Mend>
  int Count(int runs, const std::shared_ptr<Client>& client, Trouble trouble, Mend mend) {
    int outlived = 0;
    for (int i = 0; i < runs; ++i) {
      const Lease lease = Acquired(client, NewPath());
      absl::SleepFor(timeout() / 3);
      EXPECT_TRUE(Eventually([&] { return Proven(lease); }));
      trouble();
      const BootTime proven_until = BootNow() + lease.remaining();
      EXPECT_TRUE(Eventually([&] {
        return lease.state() == Lease::State::kLost ||
               (BootNow() > proven_until && lease.state() == Lease::State::kHeld);
      }));
      if (lease.state() == Lease::State::kHeld) ++outlived;
      mend();
    }
    return outlived;
  }
  void Kill(int member) {
    killed_ = member;
    ASSERT_EQ(members().Kill(member), absl::OkStatus());
  }
  void RestartKilled() {
    ASSERT_EQ(members().Start(killed_), absl::OkStatus());
    MakeWhole();
  }
  static void Print(const char* what, int outlived, int runs) {
    printf("  session timeout %s: %d of %d leases outlived %s\n",
           absl::FormatDuration(timeout()).c_str(), outlived, runs, what);
  }

 private:
  int killed_ = -1;
};

TEST_P(LeaseReconnectTest, LeasesOutliveABrokenConnection) {
  const int runs = LeaseRuns(2);
  TcpProxy proxy(ensemble().server(Follower()));
  auto client = NewClient({.servers = proxy.address(), .session_timeout = timeout()});
  const int outlived = Count(
      runs, client, [&proxy] { proxy.ResetAll(); }, [] {});
  Print("a broken connection", outlived, runs);
  EXPECT_TRUE(outlived > 0 || timeout() == absl::Seconds(2));
}

TEST_P(LeaseReconnectTest, ALeaseWhoseServerDiesIsHeldOrKnownToBeLost) {
  const int runs = LeaseRuns(1);
  auto client = NewClient({.session_timeout = timeout()});
  int of_leader = 0;
  const auto kill_server = [&] {
    const int server = ensemble().ServerOf(client->session_id());
    of_leader += server == Leader() ? 1 : 0;
    Kill(server);
  };
  const int outlived = Count(runs, client, kill_server, [this] { RestartKilled(); });
  Print("the death of their server", outlived, runs);
  printf("  (%d of the servers led)\n", of_leader);
}

TEST_P(LeaseReconnectTest, ALeaseOnAFollowerWhoseLeaderDiesIsHeldOrKnownToBeLost) {
  const int runs = LeaseRuns(1);
  auto client = NewClient(Follower(), {.session_timeout = timeout()});
  const int outlived = Count(
      runs, client, [this] { Kill(Leader()); }, [this] { RestartKilled(); });
  Print("a change of leader", outlived, runs);
}

INSTANTIATE_TEST_SUITE_P(Timeouts, LeaseReconnectTest,
                         ::testing::Values(absl::Seconds(2), absl::Seconds(6)),
                         [](const auto& test) { return absl::FormatDuration(test.param); });

}  // namespace
}  // namespace zkrecipes::integration

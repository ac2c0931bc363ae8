// SPDX-License-Identifier: Apache-2.0
//
// Measures how soon and how far ahead leases are proven.

#include <algorithm>
#include <deque>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

#include "integration/fixtures/partition_fixture.h"
#include "integration/servers/tcp_proxy.h"

namespace zkrecipes::integration {
namespace {

using base::BootNow;
using base::BootTime;

class LeaseFiguresTest : public LeaseTest {
 protected:
  // How long an acquire takes, until its lease is proven, when the client is new, has another
  // lease, was idle for two session timeouts, or was idle and then reconnected; and the least that
  // a holder ever has left.
  struct Figures {
    absl::Duration fresh, busy, idle, taken_up, lowest;
  };

  static std::string PathFor(absl::Duration timeout, const std::string& what) {
    return absl::StrCat("/", absl::FormatDuration(timeout), "-", what);
  }
  absl::Duration TimeToProof(const std::shared_ptr<Client>& client, const std::string& path) {
    const BootTime asked = BootNow();
    const Lease lease = Acquired(client, path);
    EXPECT_TRUE(lease.believed());
    return BootNow() - asked;
  }
  static absl::Duration Lowest(const Lease& lease, absl::Duration watched);
  Figures Measure(int member, absl::Duration timeout);
};

absl::Duration LeaseFiguresTest::Lowest(const Lease& lease, absl::Duration watched) {
  absl::Duration lowest = absl::InfiniteDuration();
  for (const BootTime end = BootNow() + watched; BootNow() < end;) {
    lowest = std::min(lowest, lease.remaining());
    absl::SleepFor(absl::Milliseconds(1));
  }
  return lowest;
}

LeaseFiguresTest::Figures LeaseFiguresTest::Measure(int member, absl::Duration timeout) {
  TcpProxy proxy(ensemble().server(member));
  auto client = NewClient(member, {.session_timeout = timeout});
  auto idle = NewClient(member, {.session_timeout = timeout});
  auto taken_up = NewClient({.servers = proxy.address(), .session_timeout = timeout});
  const States states(*taken_up);
  Figures figures;
  figures.fresh = TimeToProof(client, PathFor(timeout, "fresh"));
  const Lease held = Acquired(client, PathFor(timeout, "fresh"));
  absl::SleepFor(timeout);  // then opening the session proves nothing any more
  figures.lowest = Lowest(held, timeout * LeaseRuns());
  figures.busy = TimeToProof(client, PathFor(timeout, "busy"));
  figures.idle = TimeToProof(idle, PathFor(timeout, "idle"));
  proxy.ResetAll();
  EXPECT_TRUE(states.Await(ClientState::kSuspended));
  EXPECT_TRUE(Eventually([&] { return states.Are(ClientState::kConnected); }));
  figures.taken_up = TimeToProof(taken_up, PathFor(timeout, "taken-up"));
  return figures;
}

TEST_F(LeaseFiguresTest, LeasesAreSoonProvenAndAHealthyOneIsNeverWithoutAGuarantee) {
  const int member = Follower();
  auto session = Connect(member);
  std::vector<std::pair<absl::Duration, std::future<Figures>>> all;
  for (const absl::Duration timeout : {absl::Seconds(2), absl::Seconds(6), absl::Seconds(20)}) {
    for (const char* what : {"fresh", "busy", "idle", "taken-up"}) {
      // Creating a missing parent would prove the lease, too.
      const zk::Create parent{PathFor(timeout, what), "", zk::CreateMode::kPersistent};
      ASSERT_EQ(session->Do(parent).code, zk::Code::kOk);
    }
    all.emplace_back(timeout, std::async(std::launch::async, [this, member, timeout] {
                       return Measure(member, timeout);
                     }));
  }
  for (auto& [timeout, measured] : all) {
    const Figures figures = measured.get();
    printf(
        "  session timeout %s: an acquire, to its proof, takes in a new session %s, beside another "
        "lease %s, after idleness %s, taken up unproven %s; never less than %s left\n",
        absl::FormatDuration(timeout).c_str(), Milliseconds(figures.fresh).c_str(),
        Milliseconds(figures.busy).c_str(), Milliseconds(figures.idle).c_str(),
        Milliseconds(figures.taken_up).c_str(), Milliseconds(figures.lowest).c_str());
    EXPECT_LT(figures.taken_up, timeout);
    if (timeout < absl::Seconds(10)) continue;  // a busy machine may stand still for that long
    EXPECT_GT(figures.lowest, absl::ZeroDuration());
  }
}

// Every lease of a client ends at once: measures how late ended() is.
TEST_F(LeaseFiguresTest, FourThousandLeasesThatEndAtOnceAreAllToldByAFewThreads) {
  constexpr int kLeases = 4000;
  TcpProxy proxy(ensemble().server(Follower()));
  auto client = NewClient({.servers = proxy.address(), .session_timeout = absl::Seconds(10)});
  std::vector<Lease> leases;
  for (int i = 0; i < kLeases; ++i) leases.push_back(Acquired(client, absl::StrCat("/m", i)));
  std::vector<BootTime> told(kLeases);
  std::vector<std::thread::id> threads(kLeases);
  std::latch all(kLeases);
  std::deque<std::stop_callback<std::function<void()>>> callbacks;
  for (int i = 0; i < kLeases; ++i) {
    callbacks.emplace_back(leases[i].ended(), [&, i] {
      told[i] = BootNow();
      threads[i] = std::this_thread::get_id();
      all.count_down();
    });
  }
  proxy.HoldEverything(true);
  absl::SleepFor(absl::Milliseconds(500));
  const BootTime deadline = BootNow() + leases[0].remaining();
  all.wait();
  std::sort(told.begin(), told.end());
  const size_t used = std::set(threads.begin(), threads.end()).size();
  printf(
      "  of %d leases that end at once the first is told %s after the deadline, the median %s, the "
      "last %s, by %zu thread(s)\n",
      kLeases, Milliseconds(told[0] - deadline).c_str(),
      Milliseconds(told[kLeases / 2] - deadline).c_str(),
      Milliseconds(told.back() - deadline).c_str(), used);
  EXPECT_LE(used, 10u);
  proxy.HoldEverything(false);
}

}  // namespace
}  // namespace zkrecipes::integration

// SPDX-License-Identifier: Apache-2.0
//
// The holder's server is cut off from the ensemble: the lease is lost before another is granted.
// ZKRECIPES_LEASE_RUNS says how often each is tried.

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/random/random.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

#include "integration/client_fixture.h"
#include "integration/partition_test.h"
#include "lib/base/one_shot.h"

namespace zkrecipes::integration {
namespace {

using base::BootNow;
using base::BootTime;

// Well above the session timeouts: the holder's server goes on answering all the time.
constexpr absl::Duration kPatience = absl::Seconds(20);

int Runs() {
  int runs = 3;
  const char* wanted = getenv("ZKRECIPES_LEASE_RUNS");
  return wanted != nullptr && absl::SimpleAtoi(wanted, &runs) ? runs : 3;
}

double Milliseconds(absl::Duration duration) { return absl::ToDoubleMilliseconds(duration); }

// What happened in one run, after the cut.
struct Outcome {
  absl::Duration lost;
  absl::Duration granted;
  Lease::State holder;  // when the other was told
};

struct Grant {
  BootTime at;
  Lease::State holder;
};

class LeasePartitionTest : public PartitionTest,
                           public ::testing::WithParamInterface<absl::Duration> {
 protected:
  static void SetUpTestSuite() { StartEnsemble(kPatience); }

  static std::shared_ptr<Client> NewClient(int member, absl::Duration timeout) {
    auto client = Client::Connect(
        {.servers = ensemble().member(member), .session_timeout = timeout}, {kSoon});
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  static std::string NewPath() {
    static int count = 0;
    return absl::StrCat("/lease-", ++count);
  }
  static bool Proven(const Lease& lease) {
    return lease.state() == Lease::State::kHeld && lease.remaining() > absl::ZeroDuration();
  }
  std::optional<Outcome> Try(absl::Duration timeout);
};

std::optional<Outcome> LeasePartitionTest::Try(absl::Duration timeout) {
  const std::string path = NewPath();
  const int follower = Follower();
  auto holder = NewClient(follower, timeout);
  auto lease = Lock(holder, path).Acquire({kSoon});
  if (!lease.ok()) return std::nullopt;
  auto other = NewClient(ensemble().leader(), absl::Minutes(1));
  base::OneShot<BootTime> lost;
  const std::stop_callback on_loss(lease->lost(), [&lost] { lost.Set(BootNow()); });
  auto grant = std::make_shared<base::OneShot<Grant>>();
  Lock(other, path).AcquireAsync({kSoon}, [&lease, grant](absl::StatusOr<Lease> next) {
    EXPECT_TRUE(next.ok()) << next.status();
    grant->Set({BootNow(), lease->state()});
  });
  EXPECT_TRUE(Eventually([&] { return ListContenders(*other, path, {kSoon})->size() == 2; }));
  absl::BitGen random;  // so that the cut comes at any time between two beats and two pings
  absl::SleepFor(absl::Uniform(random, 0.2, 0.6) * timeout);
  EXPECT_TRUE(Eventually([&] { return Proven(*lease); }));
  ensemble().CutOff(follower);
  const BootTime cut = BootNow();
  const std::optional<BootTime> lost_at = lost.Take(cut + kSoon);
  const std::optional<Grant> granted = grant->Take(cut + kSoon);
  if (!lost_at.has_value() || !granted.has_value()) return std::nullopt;
  return Outcome{*lost_at - cut, granted->at - cut, granted->holder};
}

TEST_P(LeasePartitionTest, TheHolderOnACutOffFollowerIsToldBeforeAnotherIsGranted) {
  const absl::Duration timeout = GetParam();
  std::vector<double> gaps;
  for (int i = 0; i < Runs(); ++i) {
    const std::optional<Outcome> run = Try(timeout);
    ASSERT_TRUE(run.has_value());
    EXPECT_LT(run->lost, run->granted);
    EXPECT_EQ(run->holder, Lease::State::kLost);
    gaps.push_back(Milliseconds(run->granted - run->lost));
    printf("  %d: lost %.0f ms, the other granted %.0f ms after the cut: gap %.0f ms\n", i + 1,
           Milliseconds(run->lost), Milliseconds(run->granted), gaps.back());
  }
  std::sort(gaps.begin(), gaps.end());
  printf("  session timeout %s, %zu runs: gaps %.0f to %.0f ms, median %.0f\n",
         absl::FormatDuration(timeout).c_str(), gaps.size(), gaps.front(), gaps.back(),
         gaps[gaps.size() / 2]);
}

TEST_P(LeasePartitionTest, AHealthyIdleHolderIsNeverWithoutAGuarantee) {
  const absl::Duration timeout = GetParam();
  auto client = NewClient(Follower(), timeout);
  auto lease = Lock(client, NewPath()).Acquire({kSoon});
  ASSERT_TRUE(lease.ok()) << lease.status();
  const BootTime acquired = BootNow();
  ASSERT_TRUE(Eventually([&] { return Proven(*lease); }));
  const absl::Duration proven_after = BootNow() - acquired;
  absl::SleepFor(timeout);
  absl::Duration lowest = absl::InfiniteDuration();
  for (const BootTime end = BootNow() + 2 * timeout; BootNow() < end;) {
    lowest = std::min(lowest, lease->remaining());
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_GT(lowest, absl::ZeroDuration());
  printf(
      "  session timeout %s: proven %.0f ms after it was acquired; never less than %.2f of it "
      "left\n",
      absl::FormatDuration(timeout).c_str(), Milliseconds(proven_after),
      absl::FDivDuration(lowest, timeout));
}

INSTANTIATE_TEST_SUITE_P(Timeouts, LeasePartitionTest,
                         ::testing::Values(absl::Seconds(2), absl::Seconds(6)),
                         [](const auto& test) { return absl::FormatDuration(test.param); });

}  // namespace
}  // namespace zkrecipes::integration

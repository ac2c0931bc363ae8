// SPDX-License-Identifier: Apache-2.0
//
// Measures the load that clients put on an ensemble while they hold and wait, and how soon the next
// lease is proven.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/partition_fixture.h"

namespace zkrecipes::integration {
namespace {

constexpr absl::Duration kSessionTimeout = absl::Seconds(10);

using Pace = LeaseOptions::Pace;

class BeatsFiguresTest : public ClientTest {
 protected:
  struct Contending {
    std::shared_ptr<Client> client;
    std::unique_ptr<Pending> pending;
    std::optional<Lease> lease;
  };

  Contending Start(int i, int queue, Pace pace) {
    Contending contending;
    // Not by NewClient, which takes a timeout of 10 s for none.
    contending.client = *Client::Connect({.servers = ensemble().server(i % ensemble().size()),
                                          .session_timeout = kSessionTimeout,
                                          .lease = {.pace = pace}},
                                         {kSoon});
    contending.pending =
        std::make_unique<Pending>(contending.client, absl::StrCat(node_path(), "/", queue));
    return contending;
  }
  // From the release of the one in front to the proof of its successor's lease.
  static absl::Duration HandOver(Contending& from, Contending& to) {
    const base::BootTime released = base::BootNow();
    EXPECT_EQ(std::move(*from.lease).Release({kSoon}), absl::OkStatus());
    to.lease = *to.pending->Get();
    while (to.lease->state() == Lease::State::kUnproven) absl::SleepFor(absl::Microseconds(200));
    EXPECT_TRUE(Proven(*to.lease)) << "on a machine that is too busy for so many clients";
    return base::BootNow() - released;
  }
};

TEST_F(BeatsFiguresTest, HoldersAndThoseNextInLineBeatAndTheOthersDoNot) {
  constexpr int kHolding = 60, kWaiting = 300, kHandOvers = 12;
  for (const Pace pace : {Pace::kSteady, Pace::kSparse}) {
    std::vector<Contending> holders;
    for (int i = 0; i < kHolding; ++i) {
      holders.push_back(Start(i, i, pace));
      holders.back().lease = *holders.back().pending->Get();
    }
    std::vector<Contending> waiters;
    for (int i = 0; i < kWaiting; ++i) waiters.push_back(Start(i, /*queue=*/0, pace));
    absl::SleepFor(2 * kSessionTimeout);

    const base::BootTime end = base::BootNow() + 3 * kSessionTimeout;
    const int64_t before = ensemble().LastZxid(Leader());
    const auto packets = ensemble().PacketsReceived();
    const base::BootTime began = base::BootNow();
    absl::Duration lowest = absl::InfiniteDuration();
    for (; base::BootNow() < end; absl::SleepFor(absl::Milliseconds(20))) {
      for (const Contending& one : holders) lowest = std::min(lowest, one.lease->remaining());
    }
    const double writes = static_cast<double>(ensemble().LastZxid(Leader()) - before);
    const double requests = static_cast<double>(*ensemble().PacketsReceived() - *packets);
    const double seconds = absl::ToDoubleSeconds(base::BootNow() - began);

    std::vector<absl::Duration> hand_overs;
    Contending* from = &holders[0];
    for (int i = 0; i < kHandOvers; ++i) {
      absl::SleepFor(kSessionTimeout / 3);
      hand_overs.push_back(HandOver(*from, waiters[i]));
      from = &waiters[i];
    }
    const bool steady = pace == Pace::kSteady;
    printf(
        "  %s: %d clients hold, %d wait behind one of them: %.1f writes and %.1f requests a "
        "second; "
        "at the lowest %s is left; from a release to the proof of the next lease: %s\n",
        steady ? "steady" : "sparse", kHolding, kWaiting, writes / seconds, requests / seconds,
        absl::FormatDuration(lowest).c_str(), Spread(hand_overs).c_str());
    // The first of the queue commits as little as at the sparse pace.
    EXPECT_LE(writes / seconds, (steady ? 2 : 0.5) * kHolding + 0.5 + 2);
  }
}

}  // namespace
}  // namespace zkrecipes::integration

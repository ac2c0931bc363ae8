// SPDX-License-Identifier: Apache-2.0
//
// Measures the load that clients put on an ensemble while they hold and wait, and how soon the next
// lease is proven.

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

class BeatsFiguresTest : public ClientTest {
 protected:
  struct Contending {
    std::shared_ptr<Client> client;
    std::unique_ptr<Pending> pending;
    std::optional<Lease> lease;
  };

  Contending Start(int i, int queue) {
    Contending contending;
    // Not by NewClient, which takes a timeout of 10 s for none.
    contending.client = *Client::Connect(
        {.servers = ensemble().server(i % ensemble().size()), .session_timeout = kSessionTimeout},
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
  std::vector<Contending> holders;
  for (int i = 0; i < kHolding; ++i) {
    holders.push_back(Start(i, i));
    holders.back().lease = *holders.back().pending->Get();
  }
  std::vector<Contending> waiters;
  for (int i = 0; i < kWaiting; ++i) waiters.push_back(Start(i, /*queue=*/0));
  absl::SleepFor(2 * kSessionTimeout);

  const absl::Duration watched = 3 * kSessionTimeout;
  const int64_t before = ensemble().LastZxid(Leader());
  const auto packets = ensemble().PacketsReceived();
  absl::SleepFor(watched);
  const double writes = static_cast<double>(ensemble().LastZxid(Leader()) - before);
  const double requests = static_cast<double>(*ensemble().PacketsReceived() - *packets);
  const double seconds = absl::ToDoubleSeconds(watched);

  std::vector<absl::Duration> hand_overs;
  Contending* from = &holders[0];
  for (int i = 0; i < kHandOvers; ++i) {
    absl::SleepFor(kSessionTimeout / 3);
    hand_overs.push_back(HandOver(*from, waiters[i]));
    from = &waiters[i];
  }
  printf(
      "  %d clients hold, %d wait behind one of them: %.1f writes and %.1f requests a second; from "
      "a release to the proof of the next lease: %s\n",
      kHolding, kWaiting, writes / seconds, requests / seconds, Spread(hand_overs).c_str());
  // Each commits less than one in two seconds, and so does the first of the queue.
  EXPECT_LE(writes / seconds, 0.5 * (kHolding + 1) + 2);
}

}  // namespace
}  // namespace zkrecipes::integration

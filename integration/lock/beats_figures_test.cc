// SPDX-License-Identifier: Apache-2.0
//
// What clients that hold and clients that wait cost an ensemble, and how soon the next one's lease
// is proven. ZKRECIPES_BEATS_HOLDING and ZKRECIPES_BEATS_WAITING say how many clients there are of
// each, and ZKRECIPES_BEATS_QUEUES behind how many of the holders the others wait.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

#include "integration/fixtures/client_fixture.h"
#include "integration/lease/lease_fixture.h"

namespace zkrecipes::integration {
namespace {

constexpr absl::Duration kSessionTimeout = absl::Seconds(10);

int Parameter(const char* name, int otherwise) {
  int value = 0;
  const char* given = getenv(name);
  return given != nullptr && absl::SimpleAtoi(given, &value) ? value : otherwise;
}

class BeatsFiguresTest : public ClientTest {
 protected:
  struct Contending {
    std::shared_ptr<Client> client;
    std::unique_ptr<Pending> pending;
    std::optional<Lease> lease;
  };

  int64_t Transactions() {
    auto answer = ensemble().FourLetterWord(Leader(), "srvr");
    EXPECT_TRUE(answer.ok()) << answer.status();
    for (absl::string_view line : absl::StrSplit(*answer, '\n')) {
      int64_t zxid = 0;
      if (absl::ConsumePrefix(&line, "Zxid: ") && absl::SimpleHexAtoi(line, &zxid)) return zxid;
    }
    return -1;
  }
  std::string PathOf(int queue) { return absl::StrCat(node_path(), "/", queue); }
  Contending Start(int i, int queue) {
    Contending contending;
    // Not by NewClient, which takes a timeout of 10 s for none.
    contending.client = *Client::Connect(
        {.servers = ensemble().server(i % ensemble().size()), .session_timeout = kSessionTimeout},
        {kSoon});
    contending.pending = std::make_unique<Pending>(contending.client, PathOf(queue));
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
  const int holding = Parameter("ZKRECIPES_BEATS_HOLDING", 60);
  const int waiting = Parameter("ZKRECIPES_BEATS_WAITING", 300);
  const int queues = Parameter("ZKRECIPES_BEATS_QUEUES", 1);
  std::vector<Contending> holders;
  for (int i = 0; i < holding; ++i) {
    holders.push_back(Start(i, i));
    holders.back().lease = *holders.back().pending->Get();
  }
  std::vector<Contending> waiters;
  for (int i = 0; i < waiting; ++i) waiters.push_back(Start(i, i % queues));
  absl::SleepFor(2 * kSessionTimeout);

  const absl::Duration watched = 3 * kSessionTimeout;
  const int64_t before = Transactions();
  const auto packets = ensemble().PacketsReceived();
  absl::SleepFor(watched);
  const double writes = static_cast<double>(Transactions() - before);
  const double requests = static_cast<double>(*ensemble().PacketsReceived() - *packets);
  const double seconds = absl::ToDoubleSeconds(watched);

  std::vector<absl::Duration> hand_overs;
  Contending* from = &holders[0];
  for (int i = 0; i < 12 && i * queues < waiting; ++i) {
    absl::SleepFor(kSessionTimeout / 3);
    Contending* to = &waiters[static_cast<size_t>(i) * queues];
    hand_overs.push_back(HandOver(*from, *to));
    from = to;
  }
  printf(
      "  %d clients hold, %d wait behind %d of them: %.1f writes and %.1f requests a second; from "
      "a release "
      "to the proof of the next lease: %s\n",
      holding, waiting, queues, writes / seconds, requests / seconds, Spread(hand_overs).c_str());
  // Each commits less than one in two seconds; and the first of each queue does.
  EXPECT_LE(writes / seconds, 0.5 * (holding + queues) + 2);
}

}  // namespace
}  // namespace zkrecipes::integration

// SPDX-License-Identifier: Apache-2.0
//
// Ten thousand locks held and ten thousand waited for through one client, and its servers die one
// after the other. A nightly test, with figures.

#include <malloc.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"

#include "integration/fixtures/client_fixture.h"

namespace zkrecipes::integration {
namespace {

constexpr int kLocks = 10000;
constexpr absl::Duration kTimeout = absl::Minutes(1);
constexpr absl::Duration kLong = absl::Minutes(3);

int64_t Threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// All of this process, with what malloc itself takes.
double HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

class ManyLocksTest : public ClientTest {
 protected:
  static void SetUpTestSuite() { SharedEnsemble::Options().max_session_timeout = absl::Minutes(1); }

  std::string PathOf(int i) const { return absl::StrCat(node_path(), "/", i); }

  // Asks for all of them at once; answers count, and are kept.
  struct Many {
    absl::Mutex mutex;
    std::vector<std::optional<Lease>> leases = std::vector<std::optional<Lease>>(kLocks);
    std::atomic<int> granted = 0;
    std::atomic<int> refused = 0;
  };
  void AskForAll(const std::shared_ptr<Client>& client, Many& many) const {
    for (int i = 0; i < kLocks; ++i) {
      Lock(client, PathOf(i)).AcquireAsync({}, [&many, i](absl::StatusOr<Lease> lease) {
        if (!lease.ok()) {
          ++many.refused;
          return;
        }
        const absl::MutexLock lock(&many.mutex);
        many.leases[static_cast<size_t>(i)] = *std::move(lease);
        ++many.granted;
      });
    }
  }
  // And its connection is there.
  static int Held(Many& many) {
    const absl::MutexLock lock(&many.mutex);
    int count = 0;
    for (auto& lease : many.leases) {
      count += lease && lease->state() == Lease::State::kHeld ? 1 : 0;
    }
    return count;
  }
  // As the first server knows it.
  int64_t Nodes() {
    const absl::StatusOr<std::string> answer = ensemble().FourLetterWord(0, "mntr");
    int64_t count = 0;
    if (!answer.ok()) return count;
    EXPECT_TRUE(absl::SimpleAtoi(ParseMonitor(*answer)["zk_ephemerals_count"], &count));
    return count;
  }
  template <typename F>
  double SecondsUntil(F reached) {
    const absl::Time began = absl::Now();
    EXPECT_TRUE(Eventually(reached, kLong));
    return absl::ToDoubleSeconds(absl::Now() - began);
  }
};

TEST_F(ManyLocksTest, AreHeldAndWaitedForThroughOneClientAndOutliveTheirServers) {
  auto client = NewClient({.session_timeout = kTimeout});
  Many held;
  Many waiting;
  const double heap = HeapBytes();
  AskForAll(client, held);
  const double to_hold = SecondsUntil([&] { return held.granted == kLocks; });
  absl::SleepFor(kTimeout / 5);  // by then each watches its own node
  const double held_bytes = (HeapBytes() - heap) / kLocks;
  const int64_t threads = Threads();
  AskForAll(client, waiting);
  const double to_wait = SecondsUntil([&] { return Nodes() >= 2 * kLocks; });
  absl::SleepFor(kTimeout / 5);
  const double waiting_bytes = (HeapBytes() - heap) / kLocks - held_bytes;
  EXPECT_LE(Threads(), threads + 1) << "as many threads as with half of them";
  printf(
      "%d held after %.1f s, as many waiting after %.1f s more; bytes of memory: %.0f and %.0f "
      "each\n",
      kLocks, to_hold, to_wait, held_bytes, waiting_bytes);
  for (int server = 0; server < 3; ++server) {
    ASSERT_EQ(members().Kill(server), absl::OkStatus());
    (void)Eventually([&] { return Held(held) < kLocks; }, absl::Seconds(2));  // it had some of ours
    const int cut_off = kLocks - Held(held);
    const double back = SecondsUntil([&] { return Held(held) == kLocks; });
    printf("server %d killed: %d leases were cut off, and were held again after %.1f s\n", server,
           cut_off, back);
    ASSERT_EQ(ensemble().Heal(), absl::OkStatus());
  }
  EXPECT_EQ(held.refused, 0);
  EXPECT_EQ(waiting.granted, 0);
  {
    const absl::MutexLock lock(&held.mutex);
    held.leases.clear();
  }
  const double handed = SecondsUntil([&] { return waiting.granted == kLocks; });
  printf("all released: the others hold after %.1f s\n", handed);
  EXPECT_EQ(Held(waiting), kLocks);
  EXPECT_LE(held_bytes, 4096) << "the C client's watch included";
  EXPECT_LE(waiting_bytes, 4096) << "the C client's two watches included";
}

}  // namespace
}  // namespace zkrecipes::integration

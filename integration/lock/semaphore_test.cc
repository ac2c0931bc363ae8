// SPDX-License-Identifier: Apache-2.0
//
// Processes that share a semaphore on real servers, while holders are killed, or stopped until
// their sessions have expired, and while the leader dies.

#include "zkrecipes/semaphore.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/forked_child.h"

namespace zkrecipes::integration {
namespace {

constexpr int kPermits = 3;
constexpr size_t kProcesses = 8;
constexpr size_t kMostGrants = 4096;
constexpr absl::Duration kSessionOfAHolder = absl::Seconds(4);

int64_t Nanoseconds(base::BootTime time) { return absl::ToInt64Nanoseconds(time.since_boot()); }
int64_t Now() { return Nanoseconds(base::BootNow()); }

// A time in which a process believed that it held. The last reading of its deadline ends it, unless
// it released before: for so long nobody else may come in, even if the process is dead.
struct Interval {
  int64_t begin = 0;
  std::atomic<int64_t> end = 0;
};
// What one process writes, and the test reads.
struct Record {
  std::atomic<size_t> begun = 0;
  std::array<Interval, kMostGrants> grants;

  bool holds() const {
    const size_t count = begun;
    return count > 0 && grants[count - 1].end > Now();
  }
};
struct Board {
  std::atomic<bool> over = false;
  std::array<Record, kProcesses> records;
};

// How many hold at the same time, at most, in what was recorded from `since` on.
int MostAtOnce(const Board& board, int64_t since) {
  std::vector<std::pair<int64_t, int>> changes;  // at one moment ends come first
  for (const Record& record : board.records) {
    for (size_t i = 0; i < record.begun; ++i) {
      const Interval& grant = record.grants[i];
      if (grant.begin < since) continue;
      changes.emplace_back(grant.begin, 1);
      changes.emplace_back(grant.end, -1);
    }
  }
  std::ranges::sort(changes);
  int now = 0;
  int most = 0;
  for (const auto& [when, change] : changes) most = std::max(most, now += change);
  return most;
}

class SemaphoreOfProcessesTest : public ClientTest {
 protected:
  SemaphoreOfProcessesTest() {
    void* const memory =
        mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    board_ = new (memory) Board();
  }
  ~SemaphoreOfProcessesTest() override { munmap(board_, sizeof(Board)); }

  // Acquires and releases until the board says that it is over.
  void Work(size_t number) {
    Record& record = board_->records[number];
    const auto client = NewClient({.session_timeout = kSessionOfAHolder});
    const Semaphore semaphore(client, node_path(), kPermits);
    while (!board_->over && record.begun < kMostGrants) {
      absl::StatusOr<Lease> lease = semaphore.Acquire({kSoon});
      ASSERT_TRUE(lease.ok()) << lease.status();
      Interval& grant = record.grants[record.begun];
      grant.begin = Now();
      grant.end = grant.begin;
      ++record.begun;
      const base::BootTime until =
          base::BootNow() + absl::Milliseconds(5 + 7 * static_cast<int>(number));
      while (lease->believed() && base::BootNow() < until) {
        const base::BootTime asked = base::BootNow();  // before: what remains is not overstated
        grant.end = Nanoseconds(asked + lease->remaining());
        absl::SleepFor(absl::Milliseconds(1));
      }
      const int64_t ends = Now();  // before: it may be stopped here for longer than it believes
      if (lease->believed()) grant.end = ends;
      (void)std::move(*lease).Release({kSoon});  // Aborted if it was lost
    }
    EXPECT_EQ(client->Close({kSoon}), absl::OkStatus());
  }
  void Start(size_t number) {
    children_[number].emplace([this, number](Line&) { Work(number); });
  }
  size_t AwaitHolder() {
    size_t holder = 0;
    const auto holds = [](const Record& record) { return record.holds(); };
    EXPECT_TRUE(Eventually([&] {
      const auto found = std::ranges::find_if(board_->records, holds);
      holder = static_cast<size_t>(found - board_->records.begin());
      return holder < kProcesses;
    }));
    return holder;
  }
  size_t Grants() const {
    size_t sum = 0;
    for (const Record& record : board_->records) sum += record.begun;
    return sum;
  }
  // All permits are in use again, and go from hand to hand.
  void ExpectGoesOn() {
    const int64_t since = Now();
    const size_t grants = Grants();
    EXPECT_TRUE(Eventually([&] {
      return MostAtOnce(*board_, since) >= kPermits && Grants() > grants + 3 * kProcesses;
    }));
  }

  Board* board_;
  std::array<std::optional<ForkedChild>, kProcesses> children_;
};

TEST_F(SemaphoreOfProcessesTest, AreNeverMoreThanItsPermitsWhoeverDies) {
  for (size_t i = 0; i < kProcesses; ++i) Start(i);
  ExpectGoesOn();

  const size_t killed = AwaitHolder();
  ASSERT_EQ(kill(children_[killed]->pid(), SIGKILL), 0);
  ExpectGoesOn();

  const size_t stopped = AwaitHolder();
  ASSERT_EQ(kill(children_[stopped]->pid(), SIGSTOP), 0);
  ExpectGoesOn();  // its session has expired by then
  ASSERT_EQ(kill(children_[stopped]->pid(), SIGCONT), 0);

  if (ensemble().members() != nullptr) {
    ASSERT_EQ(members().Kill(Leader()), absl::OkStatus());
    ExpectGoesOn();
  }
  board_->over = true;
  for (size_t i = 0; i < kProcesses; ++i) {
    if (i != killed) children_[i]->Wait();
  }
  EXPECT_EQ(MostAtOnce(*board_, 0), kPermits);
  const auto observer = NewClient();
  EXPECT_TRUE(AwaitQueue(*observer, 0));
  printf("%zu grants\n", Grants());
}

}  // namespace
}  // namespace zkrecipes::integration

// SPDX-License-Identifier: Apache-2.0
//
// A resource checks sequencers on a server that is cut off from the ensemble, while the lock goes to
// another: no answer is older than the cache's max_age.

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "gtest/gtest.h"

#include "integration/fixtures/raw_client.h"
#include "integration/lease/lease_fixture.h"
#include "lib/base/mutex.h"
#include "zkrecipes/sequencer_cache.h"

namespace zkrecipes::integration {
namespace {

using base::BootTime;

// A resource that asks all the time, from a thread of its own.
class Asker {
 public:
  Asker(const SequencerCache& cache, Sequencer sequencer)
      : thread_([this, &cache, sequencer = std::move(sequencer)](const std::stop_token& stop) {
          while (!stop.stop_requested()) AskOnce(cache, sequencer);
        }) {}

  struct Told {
    int64_t yes = 0;
    int64_t no = 0;
    int64_t nothing = 0;
    BootTime last_yes;  // when it was asked for, since the thread may stand still afterwards
  };
  Told told() {
    base::MutexLock lock(mutex_);
    return told_;
  }

 private:
  void AskOnce(const SequencerCache& cache, const Sequencer& sequencer) {
    const BootTime asked = base::BootNow();
    const absl::StatusOr<bool> holds = cache.Check(sequencer, {absl::Milliseconds(50)});
    {
      base::MutexLock lock(mutex_);
      ++(!holds.ok() ? told_.nothing : *holds ? told_.yes : told_.no);
      if (holds.ok() && *holds) told_.last_yes = asked;
    }
    absl::SleepFor(absl::Milliseconds(1));
  }

  base::Mutex mutex_;
  Told told_ ABSL_GUARDED_BY(mutex_);
  std::jthread thread_;
};

class SequencerPartitionTest : public LeaseTest {
 protected:
  static constexpr absl::Duration kMaxAge = absl::Seconds(1);

  // Grants the lock of `lease` to another, after its session is ended; returns when that is known.
  std::optional<BootTime> PassOn(const Client& holder, Pending& next) {
    if (!EndSession(ensemble().server(Leader()), holder.session_id())) return std::nullopt;
    if (!Eventually([&] { return next.answered(); })) return std::nullopt;
    return base::BootNow();
  }
};

TEST_F(SequencerPartitionTest, NoAnswerIsOlderThanMaxAgeThoughTheServerStillShowsTheFormerHolder) {
  const int follower = Follower();
  const std::string path = NewPath();
  auto holder = NewClient(Leader(), {.session_timeout = absl::Seconds(30)});
  const Lease lease = Acquired(holder, path);
  auto other = NewClient(Leader(), {.session_timeout = absl::Minutes(1)});
  Pending next(other, path);
  auto reader = Connect(follower, absl::Seconds(30));
  const SequencerCache cache(NewClient(follower, {.session_timeout = absl::Seconds(30)}),
                             {.max_age = kMaxAge});
  ASSERT_TRUE(*cache.Check(lease.sequencer(), {kSoon}));
  Asker asker(cache, lease.sequencer());
  absl::SleepFor(2 * kMaxAge);
  const int64_t before = asker.told().yes;
  EXPECT_GT(before, 0);
  CutOff(follower);
  const auto granted = PassOn(*holder, next);
  ASSERT_TRUE(granted.has_value());
  absl::SleepFor(3 * kMaxAge);
  const Asker::Told told = asker.told();
  EXPECT_LT(told.last_yes - *granted, kMaxAge);
  EXPECT_GT(told.nothing, 0);
  EXPECT_EQ(told.no, 0);  // its server has not heard of it
  // The control: whoever believed this server, or a watch on it, would still say that it holds.
  EXPECT_EQ(reader->Do(zk::Get{lease.node()}).stat.czxid, lease.token().value());
  printf("  %lld times \"it holds\" before the cut, %lld after; the last %s after the next grant\n",
         static_cast<long long>(before), static_cast<long long>(told.yes - before),
         Milliseconds(told.last_yes - *granted).c_str());
  MakeWhole();
  EXPECT_TRUE(Eventually([&] { return asker.told().no > 0; }));
  EXPECT_TRUE(*cache.Check(next.Get()->sequencer(), {kSoon}));
}

}  // namespace
}  // namespace zkrecipes::integration

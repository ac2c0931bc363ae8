// SPDX-License-Identifier: Apache-2.0
//
// What checks of sequencers cost a resource, counted on a real ensemble.

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include "integration/fixtures/figures_fixture.h"
#include "lib/base/boot_time.h"
#include "zkrecipes/sequencer_cache.h"

namespace zkrecipes::integration {
namespace {

class SequencerFiguresTest : public FiguresTest {
 protected:
  std::vector<Lease> HoldTen() {
    holder_ = NewQuietClient();
    std::vector<Lease> leases;
    for (int i = 0; i < 10; ++i) {
      leases.push_back(Acquired(holder_, absl::StrCat(node_path(), "/", i)));
    }
    SettledPackets();
    return leases;
  }

 private:
  std::shared_ptr<Client> holder_;
};

TEST_F(SequencerFiguresTest, ACheckTakesThreeRequests) {
  const std::vector<Lease> leases = HoldTen();
  auto resource = NewQuietClient();
  SettledPackets();
  EXPECT_EQ(
      PacketsOf([&] { EXPECT_TRUE(*CheckSequencer(*resource, leases[0].sequencer(), {kSoon})); }),
      3);
}

TEST_F(SequencerFiguresTest, AThousandChecksByACacheTakeAHandfulOfRequests) {
  const std::vector<Lease> leases = HoldTen();
  const SequencerCache cache(NewQuietClient(), {.max_age = absl::Seconds(1)});
  SettledPackets();
  const int64_t first = PacketsOf([&] {
    for (const Lease& lease : leases) EXPECT_TRUE(*cache.Check(lease.sequencer(), {kSoon}));
  });
  EXPECT_EQ(first, 4 * 10);
  const base::BootTime begin = base::BootNow();
  const int64_t packets = PacketsOf([&] {
    for (int i = 0; i < 1000; ++i) {
      EXPECT_TRUE(*cache.Check(leases[i % 10].sequencer(), {kSoon}));
      absl::SleepFor(absl::Milliseconds(3));
    }
  });
  const absl::Duration took = base::BootNow() - begin;
  printf("  1000 checks of ten holders in %.1f s: %lld requests (with CheckSequencer 3000)\n",
         absl::ToDoubleSeconds(took), static_cast<long long>(packets));
  EXPECT_LE(packets, 2 + took / absl::Milliseconds(500));
}

TEST_F(SequencerFiguresTest, ACheckFromMemoryAsksNobody) {
  constexpr int kChecks = 1'000'000;
  const std::vector<Lease> leases = HoldTen();
  const Sequencer sequencer = leases[0].sequencer();
  const SequencerCache cache(NewQuietClient(), {.max_age = absl::Seconds(10)});
  ASSERT_TRUE(*cache.Check(sequencer, {kSoon}));
  const base::BootTime begin = base::BootNow();
  for (int i = 0; i < kChecks; ++i) (void)cache.Check(sequencer, {kSoon});
  const absl::Duration each = (base::BootNow() - begin) / kChecks;
  printf("  a check from memory: %lld ns\n",
         static_cast<long long>(absl::ToInt64Nanoseconds(each)));
  EXPECT_LT(each, absl::Microseconds(50));  // generous: the machine may be busy
}

}  // namespace
}  // namespace zkrecipes::integration

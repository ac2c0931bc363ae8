// SPDX-License-Identifier: Apache-2.0
//
// The holder's server is cut off from the ensemble: the lease is lost before another is granted.

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

#include "integration/lease/lease_fixture.h"
#include "lib/base/one_shot.h"

namespace zkrecipes::integration {
namespace {

using base::BootNow;
using base::BootTime;

// Two contenders for one lock, the holder on a follower, the other on the leader; and what each is told
// once the follower is cut off.
class Rivals {
 public:
  struct Grant {
    BootTime at;
    Lease::State holder;  // at that moment
  };

  Rivals(std::shared_ptr<Client> holder, std::shared_ptr<Client> other, const std::string& path)
      : holder_(std::move(holder)),
        other_(std::move(other)),
        path_(path),
        lease_(*Lock(holder_, path).Acquire({kSoon})),
        on_loss_(lease_.lost(), [this] { lost_.Set(BootNow()); }) {
    Lock(other_, path_).AcquireAsync({}, [this, grant = grant_](absl::StatusOr<Lease> next) {
      if (next.ok()) grant->Set({BootNow(), lease_.state()});
    });
  }
  // The callbacks look at this object.
  ~Rivals() { (void)other_->Close({kSoon}); }

  bool Queued() { return ListContenders(*other_, path_, {kSoon})->size() == 2; }
  const Lease& lease() const { return lease_; }

  std::optional<BootTime> TakeLoss() { return lost_.Take(BootNow() + kSoon); }
  std::optional<Grant> TakeGrant() { return grant_->Take(BootNow() + kSoon); }

 private:
  const std::shared_ptr<Client> holder_;
  const std::shared_ptr<Client> other_;
  const std::string path_;
  Lease lease_;
  base::OneShot<BootTime> lost_;
  const std::shared_ptr<base::OneShot<Grant>> grant_ = std::make_shared<base::OneShot<Grant>>();
  const std::stop_callback<std::function<void()>> on_loss_;
};

class LeasePartitionTest : public LeaseTest, public ::testing::WithParamInterface<absl::Duration> {
 protected:
  static absl::Duration timeout() { return GetParam(); }

  // Cuts the holder's server off at a random moment between two beats and two pings, before or after
  // the proof that opening the session gave has run out. Returns the time of the cut.
  std::optional<BootTime> CutOffHolder(Rivals& rivals, int follower) {
    absl::BitGen random;
    if (!Eventually([&] { return rivals.Queued(); })) return std::nullopt;
    absl::SleepFor(absl::Uniform(random, 0.2, 1.2) * timeout());
    if (!Eventually([&] { return Proven(rivals.lease()); })) return std::nullopt;
    CutOff(follower);
    return BootNow();
  }
};

TEST_P(LeasePartitionTest, TheHolderOnACutOffFollowerIsToldBeforeAnotherIsGranted) {
  std::vector<absl::Duration> gaps;
  for (int i = 0, runs = LeaseRuns(3); i < runs; ++i) {
    const int follower = Follower();
    Rivals rivals(NewClient(follower, {.session_timeout = timeout()}),
                  NewClient(Leader(), {.session_timeout = absl::Minutes(1)}), NewPath());
    const auto cut = CutOffHolder(rivals, follower);
    ASSERT_TRUE(cut.has_value());
    const auto lost = rivals.TakeLoss();
    const auto granted = rivals.TakeGrant();
    ASSERT_TRUE(lost.has_value() && granted.has_value());
    EXPECT_LT(*lost - *cut, granted->at - *cut);
    EXPECT_EQ(granted->holder, Lease::State::kLost);
    gaps.push_back(granted->at - *lost);
    printf("  %d: lost %s, the other granted %s after the cut\n", i + 1,
           Milliseconds(*lost - *cut).c_str(), Milliseconds(granted->at - *cut).c_str());
    MakeWhole();
  }
  printf("  from lost() to the other's grant: %s\n", Spread(gaps).c_str());
}

// The control: a holder that waits for the known expiry still believes when the other is granted.
TEST_P(LeasePartitionTest, AHolderThatWaitsForTheKnownExpiryOverlapsWithTheNext) {
  const int follower = Follower();
  const ClientOptions options{.session_timeout = timeout(),
                              .lease = {.ends_at = LeaseOptions::EndsAt::kExpiry}};
  Rivals rivals(NewClient(follower, options),
                NewClient(Leader(), {.session_timeout = absl::Minutes(1)}), NewPath());
  ASSERT_TRUE(CutOffHolder(rivals, follower).has_value());
  const auto granted = rivals.TakeGrant();
  ASSERT_TRUE(granted.has_value());
  EXPECT_EQ(granted->holder, Lease::State::kSuspect);
  EXPECT_EQ(rivals.lease().remaining(), absl::ZeroDuration());
  MakeWhole();
  const auto lost = rivals.TakeLoss();
  ASSERT_TRUE(lost.has_value());
  EXPECT_GT(*lost, granted->at);
  printf("  two believed to be the owner for %s: until the links were mended\n",
         Milliseconds(*lost - granted->at).c_str());
}

INSTANTIATE_TEST_SUITE_P(Timeouts, LeasePartitionTest,
                         ::testing::Values(absl::Seconds(2), absl::Seconds(6)),
                         [](const auto& test) { return absl::FormatDuration(test.param); });

}  // namespace
}  // namespace zkrecipes::integration

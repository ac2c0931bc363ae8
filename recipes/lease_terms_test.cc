// SPDX-License-Identifier: Apache-2.0
//
// Leases that end by what their user demands of them.

#include <memory>

#include "gmock/gmock.h"

#include "recipes/lock_fixture.h"

namespace zkrecipes::testing::memory {
namespace {

class LeaseTermsTest : public LockInMemoryTest {
 protected:
  std::unique_ptr<LockUser> StartHolder(const AcquireOptions& options) {
    auto user = Start();
    user->lock_options = options;
    Acquire(*user);
    EXPECT_TRUE(user->holds());
    return user;
  }
  void ExpectEnded(LockUser& user, LeaseEnd why) {
    EXPECT_EQ(user.lease().state(), Lease::State::kLost);
    EXPECT_EQ(user.lease().end_reason(), why);
    EXPECT_EQ(user.lease().remaining(), absl::ZeroDuration());
    EXPECT_TRUE(user.lease().ended().stop_requested());
    const std::string name = user.lease().node().substr(sizeof(kPath));
    EXPECT_THAT(Queue(), ::testing::Not(::testing::Contains(name)));
  }
};

TEST_F(LeaseTermsTest, ALeaseGoesOnAsLongAsItsHolderSaysThatItIsAlive) {
  auto user = StartHolder({.alive_within = absl::Seconds(3)});
  for (int i = 0; i < 20; ++i) {
    PassTime(absl::Seconds(2));
    EXPECT_TRUE(user->lease().StillAlive());
  }
  EXPECT_LE(user->lease().remaining(), absl::Seconds(3));
  auto waiter = StartWaiter();
  PassTime(absl::Seconds(3) - absl::Milliseconds(1));
  EXPECT_TRUE(user->holds());
  PassTime(absl::Milliseconds(1));
  ExpectEnded(*user, LeaseEnd::kNotAlive);
  EXPECT_FALSE(user->lease().StillAlive());
  EXPECT_TRUE(waiter->holds());
}

TEST_F(LeaseTermsTest, AHolderThatWasStoppedOverTheTimeFindsItsLeaseLostInTheFirstCall) {
  auto user = StartHolder({.alive_within = absl::Seconds(3)});
  user->host->set_paused(true);
  simulation_.SetTime(simulation_.now() + absl::Seconds(4));
  EXPECT_FALSE(user->lease().StillAlive());
  EXPECT_EQ(user->lease().end_reason(), LeaseEnd::kNotAlive);
  user->host->set_paused(false);
  simulation_.RunUntilIdle();
  ExpectEnded(*user, LeaseEnd::kNotAlive);
}

TEST_F(LeaseTermsTest, ALeaseEndsOnceItIsHeldForAsLongAsItMayBe) {
  auto user = StartHolder({.hold_at_most = absl::Seconds(30)});
  PassTime(absl::Seconds(30) - absl::Milliseconds(1));
  EXPECT_TRUE(user->holds());
  EXPECT_TRUE(user->lease().StillAlive());
  PassTime(absl::Milliseconds(1));
  ExpectEnded(*user, LeaseEnd::kHeldTooLong);
  EXPECT_EQ((**std::move(user->result)).Release().code(), absl::StatusCode::kAborted);
}

TEST_F(LeaseTermsTest, ALeaseThatIsReleasedLeavesNoTimer) {
  const AcquireOptions options = {.alive_within = absl::Hours(1), .hold_at_most = absl::Hours(2)};
  auto user = StartHolder(options);
  Release(*user);
  const size_t before = user->host->timers();
  for (int i = 0; i < 10; ++i) {
    Acquire(*user);
    ASSERT_TRUE(user->holds());
    Release(*user);
  }
  EXPECT_EQ(user->host->timers(), before);
}

TEST_F(LeaseTermsTest, ALeaseThatEndsByItsTermsSaysSoWhateverItsSessionDoesLater) {
  auto user = StartHolder({.alive_within = absl::Seconds(3)});
  user->host->set_network(Host::Network::kDown);
  PassTime(absl::Seconds(30));
  user->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(30));
  ExpectEnded(*user, LeaseEnd::kNotAlive);
}

}  // namespace
}  // namespace zkrecipes::testing::memory

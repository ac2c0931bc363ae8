// SPDX-License-Identifier: Apache-2.0
//
// The holder's server is cut off from the ensemble: the lease is lost before another is granted.

#include <functional>
#include <future>
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

#include "integration/fixtures/partition_fixture.h"
#include "integration/fixtures/raw_client.h"
#include "integration/fixtures/stall.h"
#include "lib/base/one_shot.h"
#include "zkrecipes/contenders.h"

namespace zkrecipes::integration {
namespace {

using base::BootNow;
using base::BootTime;

// Two contenders for one lock, the holder on a follower, the other on the leader; and what each is
// told once the follower is cut off.
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
        on_loss_(lease_.ended(), [this] { lost_.Set(BootNow()); }) {
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

  struct Cut {
    std::unique_ptr<Rivals> rivals;
    BootTime at;
  };
  // Cuts the holder's server off at a random moment between two beats and two pings, before or
  // after the proof that opening the session gave has run out. With other rivals if the lease ends
  // before, in a stall of the machine.
  Cut CutOffHolder(int follower, const LeaseOptions& lease = {}) {
    for (int attempt = 1;; ++attempt) {
      auto rivals = std::make_unique<Rivals>(
          NewClient(follower, {.session_timeout = timeout(), .lease = lease}),
          NewClient(Leader(), {.session_timeout = absl::Minutes(1)}), NewPath());
      const auto lost = [&] { return rivals->lease().ended().stop_requested(); };
      EXPECT_TRUE(Eventually([&] { return rivals->Queued() || lost(); }));
      absl::BitGen random;
      absl::SleepFor(absl::Uniform(random, 0.2, 1.2) * timeout());
      EXPECT_TRUE(Eventually([&] { return Proven(rivals->lease()) || lost(); }));
      if (lost() && attempt < 5) continue;
      CutOff(follower);
      return {std::move(rivals), BootNow()};
    }
  }

  struct Told {
    BootTime cut, lost, granted;
  };
  // When the holder hears of its loss, and the other of its grant.
  Told CutOffAndAwaitBoth() {
    const auto [rivals, cut] = CutOffHolder(Follower());
    const auto lost = rivals->TakeLoss();
    const auto granted = rivals->TakeGrant();
    MakeWhole();
    EXPECT_TRUE(lost.has_value() && granted.has_value());
    if (!lost.has_value() || !granted.has_value()) return {};
    EXPECT_EQ(granted->holder, Lease::State::kLost);
    return {cut, *lost, granted->at};
  }
};

TEST_P(LeasePartitionTest, TheHolderOnACutOffFollowerIsToldBeforeAnotherIsGranted) {
  std::vector<absl::Duration> gaps;
  for (int i = 0; i < LeaseRuns(); ++i) {
    // After a stall of the machine over both moments, the two are told at once.
    const auto [cut, lost, granted] = Undisturbed([this] { return CutOffAndAwaitBoth(); });
    EXPECT_LT(lost, granted);
    gaps.push_back(granted - lost);
    printf("  %d: lost %s, the other granted %s after the cut\n", i + 1,
           Milliseconds(lost - cut).c_str(), Milliseconds(granted - cut).c_str());
  }
  printf("  from ended() to the other's grant: %s\n", Spread(gaps).c_str());
}

// The control: a holder that waits for the known expiry still believes when the other is granted.
TEST_P(LeasePartitionTest, AHolderThatWaitsForTheKnownExpiryOverlapsWithTheNext) {
  const int follower = Follower();
  const auto [rivals, cut] = CutOffHolder(follower, {.ends_at = LeaseOptions::EndsAt::kExpiry});
  const auto granted = rivals->TakeGrant();
  ASSERT_TRUE(granted.has_value());
  EXPECT_EQ(granted->holder, Lease::State::kSuspect);
  EXPECT_EQ(rivals->lease().remaining(), absl::ZeroDuration());
  MakeWhole();
  const auto lost = rivals->TakeLoss();
  ASSERT_TRUE(lost.has_value());
  EXPECT_GT(*lost, granted->at);
  printf("  two believed to be the owner for %s: until the links were mended\n",
         Milliseconds(*lost - granted->at).c_str());
}

INSTANTIATE_TEST_SUITE_P(Timeouts, LeasePartitionTest,
                         ::testing::Values(absl::Seconds(2), absl::Seconds(6)),
                         [](const auto& test) { return absl::FormatDuration(test.param); });

// ---- Lease::Verify ------------------------------------------------------------------------------

using absl::StatusCode;

constexpr absl::Duration kShortWait = absl::Milliseconds(300);

class LeaseVerifyTest : public LeaseTest {
 protected:
  // So long that no stall of the machine ends a lease before its server is cut off.
  static constexpr absl::Duration kTimeout = absl::Seconds(6);

  static std::future<absl::Status> VerifyAsync(const Lease& lease) {
    return std::async(std::launch::async, [&lease] { return lease.Verify({kSoon}); });
  }
};

TEST_F(LeaseVerifyTest, IsNeverOkOnceAnotherHoldsTheLockThoughTheServerIsCutOff) {
  const int follower = Follower();
  const std::string path = NewPath();
  // The clock alone does not end its leases, so that Verify has to ask the quorum.
  auto client = NewClient(
      follower, {.session_timeout = kTimeout, .lease = {.ends_at = LeaseOptions::EndsAt::kExpiry}});
  const Lease lease = Acquired(client, path);
  auto other = NewClient(Leader(), {.session_timeout = absl::Minutes(1)});
  Pending next(other, path);
  ASSERT_EQ(lease.Verify({kSoon}), absl::OkStatus());
  CutOff(follower);
  ASSERT_TRUE(Eventually([&] { return next.answered(); }));
  EXPECT_NE(lease.state(), Lease::State::kLost);
  EXPECT_EQ(lease.Verify({kShortWait}).code(), StatusCode::kDeadlineExceeded);
  auto verified = VerifyAsync(lease);
  MakeWhole();
  EXPECT_EQ(verified.get().code(), StatusCode::kAborted);
  EXPECT_EQ(lease.Verify({kSoon}).code(), StatusCode::kAborted);
}

TEST_F(LeaseVerifyTest, IsNotOkThoughTheServerHasNotHeardYetThatTheSessionEnded) {
  const int follower = Follower();
  const std::string path = NewPath();
  auto client = NewClient(follower, {.session_timeout = absl::Seconds(30)});
  const Lease lease = Acquired(client, path);
  auto other = NewClient(Leader(), {.session_timeout = absl::Minutes(1)});
  Pending next(other, path);
  CutOff(follower);  // so that it lags
  ASSERT_TRUE(EndSession(ensemble().server(Leader()), client->session_id()));
  ASSERT_TRUE(Eventually([&] { return next.answered(); }));
  EXPECT_EQ(lease.state(), Lease::State::kHeld);
  auto verified = VerifyAsync(lease);
  EXPECT_EQ(lease.Verify({kShortWait}).code(), StatusCode::kDeadlineExceeded);
  Mend(follower);
  EXPECT_EQ(verified.get().code(), StatusCode::kAborted);
}

// ---- A resource checks sequencers on a server that is cut off -----------------------------------

using SequencerPartitionTest = LeaseTest;

TEST_F(SequencerPartitionTest, ACheckGivesNoAnswerThoughTheServerStillShowsTheFormerHolder) {
  const int follower = Follower();
  const std::string path = NewPath();
  auto holder = NewClient(Leader(), {.session_timeout = absl::Seconds(30)});
  const Lease lease = Acquired(holder, path);
  auto other = NewClient(Leader(), {.session_timeout = absl::Minutes(1)});
  Pending next(other, path);
  auto reader = Connect(follower, absl::Seconds(30));
  auto resource = NewClient(follower, {.session_timeout = absl::Seconds(30)});
  ASSERT_TRUE(*CheckSequencer(*resource, lease.sequencer(), {kSoon}));
  CutOff(follower);
  ASSERT_TRUE(EndSession(ensemble().server(Leader()), holder->session_id()));
  ASSERT_TRUE(Eventually([&] { return next.answered(); }));
  EXPECT_FALSE(CheckSequencer(*resource, lease.sequencer(), {absl::Seconds(1)}).ok());
  // The control: a bare read of this server would still say that it holds.
  EXPECT_EQ(reader->Do(zk::Get{lease.node()}).stat.czxid, lease.token().value());
  MakeWhole();
  EXPECT_TRUE(Eventually([&] {
    const auto holds = CheckSequencer(*resource, lease.sequencer(), {kSoon});
    return holds.ok() && !*holds;
  }));
  EXPECT_TRUE(*CheckSequencer(*resource, next.Get()->sequencer(), {kSoon}));
}

TEST_F(LeaseVerifyTest, WaitsForAConnectionAsLongAsItMay) {
  TcpProxy proxy(ensemble().server(0));
  auto client = NewClient({.servers = proxy.address(), .session_timeout = absl::Seconds(30)});
  const Lease lease = Acquired(client, NewPath());
  const States states(*client);
  proxy.HoldEverything(true);
  proxy.ResetAll();
  ASSERT_TRUE(states.Await(ClientState::kSuspended));
  const BootTime asked = BootNow();
  EXPECT_EQ(lease.Verify({kShortWait}).code(), StatusCode::kDeadlineExceeded);
  EXPECT_LT(BootNow() - asked, absl::Seconds(10));
  auto verified = VerifyAsync(lease);
  proxy.HoldEverything(false);
  EXPECT_EQ(verified.get(), absl::OkStatus());
}

}  // namespace
}  // namespace zkrecipes::integration

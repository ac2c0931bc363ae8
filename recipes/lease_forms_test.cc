// SPDX-License-Identifier: Apache-2.0
//
// The forms of Release and Verify that do not block, a release that is waited for again, and what
// confirms a release or a close.

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "gmock/gmock.h"

#include "lib/session/client/client_core.h"
#include "recipes/lease_forms_fixture.h"

namespace zkrecipes::testing::memory {
namespace {

using absl::StatusCode;

TEST_F(LeaseFormsTest, AreAnswered) {
  auto process = StartHolder();
  process->lease().VerifyAsync({}, Tell());
  EXPECT_EQ(answers_, 0);
  simulation_.RunUntilIdle();
  EXPECT_EQ(Answer(), StatusCode::kOk);
  CoVerify(process->lease(), absl::Seconds(1));
  simulation_.RunUntilIdle();
  EXPECT_EQ(Answer(), StatusCode::kOk);
  std::move(process->lease()).ReleaseAsync({absl::Seconds(1)}, Tell());
  EXPECT_EQ(process->lease().state(), Lease::State::kReleased);
  EXPECT_EQ(answers_, 0);
  simulation_.RunUntilIdle();
  EXPECT_EQ(Answer(), StatusCode::kOk);
  Acquire(*process);
  CoRelease(process->lease(), absl::Seconds(1));
  EXPECT_EQ(process->lease().state(), Lease::State::kReleased);
  simulation_.RunUntilIdle();
  EXPECT_EQ(Answer(), StatusCode::kOk);
  ExpectNothingLeft();
  EXPECT_EQ(answers_, 0);
}

TEST_F(LeaseFormsTest, ARequestForACoReleaseThatIsNotAwaitedReleasesNothing) {
  auto process = StartHolder();
  { [[maybe_unused]] const auto dropped = std::move(process->lease()).CoRelease(); }
  EXPECT_EQ(process->lease().state(), Lease::State::kHeld);
}

TEST_F(LeaseFormsTest, AReleaseThatTimedOutWithoutANetworkIsWaitedForAgain) {
  auto process = StartHolder();
  process->host->set_network(Host::Network::kDown);
  std::move(process->lease()).ReleaseAsync({absl::Milliseconds(500)}, Tell());
  PassTime(absl::Milliseconds(499));
  EXPECT_EQ(answers_, 0);
  PassTime(absl::Milliseconds(1));
  EXPECT_EQ(Answer(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(process->lease().state(), Lease::State::kReleased);

  std::stop_source stop;
  CoRelease(process->lease(), absl::Hours(1), stop.get_token());
  PassTime(absl::Milliseconds(500));
  EXPECT_EQ(answers_, 0);
  stop.request_stop();
  PassTime(absl::ZeroDuration());
  EXPECT_EQ(Answer(), StatusCode::kCancelled);

  CoRelease(process->lease(), absl::Hours(1));
  PassTime(absl::Seconds(1));
  EXPECT_EQ(answers_, 0);
  EXPECT_THAT(Queue(), ::testing::SizeIs(1));
  process->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(5));
  EXPECT_EQ(Answer(), StatusCode::kOk);
  EXPECT_THAT(Queue(), ::testing::IsEmpty());
  std::move(process->lease()).ReleaseAsync({}, Tell());
  simulation_.RunUntilIdle();
  EXPECT_EQ(Answer(), StatusCode::kOk) << "however often";
}

TEST_F(LeaseFormsTest, AVerificationTimesOutAndIsCancelledWithoutANetwork) {
  auto process = StartHolder();
  process->host->set_network(Host::Network::kDown);
  CoVerify(process->lease(), absl::Seconds(1));
  PassTime(absl::Milliseconds(999));
  EXPECT_EQ(answers_, 0);
  PassTime(absl::Milliseconds(1));
  EXPECT_EQ(Answer(), StatusCode::kDeadlineExceeded);
  std::stop_source stop;
  stop.request_stop();
  process->lease().VerifyAsync({.cancel = stop.get_token()}, Tell());
  PassTime(absl::ZeroDuration());
  EXPECT_EQ(Answer(), StatusCode::kCancelled);
  process->lease().VerifyAsync({-absl::Seconds(1)}, Tell());
  PassTime(absl::ZeroDuration());
  EXPECT_EQ(Answer(), StatusCode::kInvalidArgument);
}

TEST_F(LeaseFormsTest, ALeaseThatIsLostMeanwhileIsNotVerifiedAndWasNotReleased) {
  auto process = StartHolder();
  process->host->set_network(Host::Network::kDown);
  CoVerify(process->lease(), absl::Hours(1));
  PassTime(absl::Seconds(1));
  EXPECT_EQ(answers_, 0);
  Expire(*process);
  process->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(10));
  EXPECT_EQ(Answer(), StatusCode::kAborted);
  for (int i = 0; i < 2; ++i) {
    std::move(process->lease()).ReleaseAsync({}, Tell());
    simulation_.RunUntilIdle();
    EXPECT_EQ(Answer(), StatusCode::kAborted);
  }
}

// Its session is not proven any more, and its process finds that before it carries out the release.
TEST_F(LeaseFormsTest, ALeaseThatWasReleasedInTimeIsNotLostWhatEndsBeforeItsNodeHasGone) {
  auto process = Start();
  process->lock_options.lock_delay = absl::Seconds(30);
  Acquire(*process);
  process->host->set_network(Host::Network::kDown);
  PassTime(process->lease().remaining() - absl::Milliseconds(1));
  std::move(process->lease()).ReleaseAsync({}, Tell());
  simulation_.SetTime(simulation_.now() + absl::Milliseconds(1));
  while (process->host->CanRunTimer()) process->host->RunTimer();
  EXPECT_EQ(answers_, 0);
  process->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(5));
  EXPECT_EQ(Answer(), StatusCode::kOk);
  EXPECT_EQ(process->lease().end_reason(), LeaseEnd::kReleased);
  auto next = Start();
  next->lock_options.lock_delay = absl::Seconds(30);
  Acquire(*next);
  EXPECT_TRUE(next->holds()) << "a lease that is released leaves no delay";
}

// A leader that is about to end a session already says that it has: the node may still be there,
// and outlives the leader if that fails.
TEST_F(LeaseFormsTest, AReleaseIsNotConfirmedByTheEndOfItsSession) {
  auto process = StartHolder();
  process->host->set_network(Host::Network::kDown);
  CoRelease(process->lease(), absl::Hours(1));
  PassTime(absl::Seconds(1));
  Expire(*process);
  process->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(10));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Answer(), StatusCode::kDeadlineExceeded);
    std::move(process->lease()).ReleaseAsync({}, Tell());
    simulation_.RunUntilIdle();
  }
  EXPECT_EQ(process->lease().end_reason(), LeaseEnd::kReleased);
}

// The same rule in both, for a session that expires while its client is closing.
TEST_F(LeaseFormsTest, ACloseIsConfirmedByAnExpiryNoMoreThanARelease) {
  for (const bool holds : {false, true}) {
    auto process = Start();
    if (holds) Acquire(*process);
    process->host->set_network(Host::Network::kDown);
    if (holds) CoRelease(process->lease(), absl::Hours(1));
    const auto closed = std::make_shared<base::OneShot<absl::Status>>();
    internal::ClientAccess::Core(*process->client)->Close(closed);
    PassTime(absl::Seconds(1));
    Expire(*process);
    process->host->set_network(Host::Network::kUp);
    PassTime(absl::Seconds(5));
    if (!holds) {
      EXPECT_EQ(closed->Take({}), absl::OkStatus());
      continue;
    }
    EXPECT_EQ(Answer(), StatusCode::kDeadlineExceeded);
    const absl::Status status = *closed->Take({});
    EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("1 node(s) was not confirmed"));
  }
}

// ... and for one that has expired before. Two session timeouts later no leader has it any more.
TEST_F(LeaseFormsTest, ACloseSoonAfterAnExpiryIsNotConfirmedEither) {
  for (const bool soon : {false, true}) {
    auto process = StartHolder();
    process->host->set_network(Host::Network::kDown);
    CoRelease(process->lease(), absl::Hours(1));
    Expire(*process);
    process->host->set_network(Host::Network::kUp);
    PassTime(absl::Seconds(1));
    EXPECT_EQ(Answer(), StatusCode::kDeadlineExceeded);
    if (!soon) PassTime(absl::Seconds(20));
    const auto closed = std::make_shared<base::OneShot<absl::Status>>();
    internal::ClientAccess::Core(*process->client)->Close(closed);
    PassTime(absl::Seconds(1));
    const absl::Status status = *closed->Take({});
    EXPECT_EQ(status.code(), soon ? StatusCode::kDeadlineExceeded : StatusCode::kOk) << status;
  }
}

// The upgrade's node goes with the session, too, and no call has said of it that it is lost.
TEST_F(LeaseFormsTest, ACloseSoonAfterAnExpiryDoesNotConfirmTheNodeOfAPendingUpgrade) {
  for (const bool upgrades : {true, false}) {
    const auto other = StartReader(/*shared=*/true);
    const auto process = StartReader(/*shared=*/true);
    if (upgrades) ReadWriteLock(process->client, kPath).UpgradeAsync(process->lease(), {}, Take());
    PassTime(absl::Seconds(1));
    EXPECT_EQ(answers_, 0);
    process->host->set_network(Host::Network::kDown);
    Expire(*process);
    process->host->set_network(Host::Network::kUp);
    PassTime(absl::Seconds(1));
    if (upgrades) {
      EXPECT_EQ(Answer(), StatusCode::kAborted);
    }
    const auto closed = std::make_shared<base::OneShot<absl::Status>>();
    internal::ClientAccess::Core(*process->client)->Close(closed);
    PassTime(absl::Seconds(1));
    const absl::Status status = *closed->Take({});
    EXPECT_EQ(status.code(), upgrades ? StatusCode::kDeadlineExceeded : StatusCode::kOk) << status;
  }
}

TEST_F(LeaseFormsTest, AVerificationThatFindsNoNodeEndsTheLeaseBeforeItAnswers) {
  LockUser process;
  memory::Start(simulation_, process, {.executor = InlineExecutor()});
  Acquire(process);
  ASSERT_TRUE(model().OperatorDeletes(process.lease().node(), simulation_.now()));
  std::optional<Lease::State> state;
  process.lease().VerifyAsync({}, [&](const absl::Status& status) {
    EXPECT_EQ(status.code(), StatusCode::kAborted);
    state = process.lease().state();
  });
  simulation_.RunUntilIdle();
  EXPECT_EQ(state, Lease::State::kLost);
  EXPECT_EQ(process.lease().end_reason(), LeaseEnd::kNodeDeleted);
}

TEST_F(LeaseFormsTest, AreAnsweredWhenTheClientIsClosed) {
  auto process = StartHolder();
  auto other = StartReader(/*shared=*/false, "/locks/other");
  for (LockUser* user : {process.get(), other.get()}) {
    user->host->set_network(Host::Network::kDown);
  }
  CoVerify(process->lease(), absl::Hours(1));
  CoRelease(other->lease(), absl::Hours(1));
  PassTime(absl::Milliseconds(500));
  EXPECT_EQ(answers_, 0);
  const auto close = [this](LockUser& user) {
    internal::ClientAccess::Core(*user.client)
        ->Close(std::make_shared<base::OneShot<absl::Status>>());
    PassTime(absl::Minutes(1));
  };
  close(*process);
  EXPECT_EQ(Answer(), StatusCode::kAborted);
  close(*other);
  EXPECT_EQ(Answer(), StatusCode::kDeadlineExceeded) << "no server has said that the node is gone";
  CoRelease(other->lease(), absl::Hours(1));
  PassTime(absl::ZeroDuration());
  EXPECT_EQ(Answer(), StatusCode::kDeadlineExceeded);
  CoVerify(process->lease(), absl::Hours(1));
  PassTime(absl::ZeroDuration());
  EXPECT_EQ(Answer(), StatusCode::kAborted);
}

TEST_F(LeaseFormsTest, AMovedFromLeaseSaysSo) {
  auto process = StartHolder();
  Lease lease = std::move(process->lease());
  CoRelease(process->lease(), absl::Hours(1));
  EXPECT_EQ(Answer(), StatusCode::kFailedPrecondition);
  process->lease().VerifyAsync({}, Tell());
  EXPECT_EQ(Answer(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(lease.state(), Lease::State::kHeld);
}

TEST_F(LeaseFormsTest, AFrameThatIsDestroyedIsNotResumedAndItsReleaseGoesOn) {
  auto process = StartHolder();
  process->host->set_network(Host::Network::kDown);
  CoVerify(process->lease(), absl::Hours(1)).frame.destroy();
  CoRelease(process->lease(), absl::Hours(1)).frame.destroy();
  PassTime(absl::Seconds(1));
  process->host->set_network(Host::Network::kUp);
  ExpectNothingLeft();
  EXPECT_EQ(answers_, 0);
}

}  // namespace
}  // namespace zkrecipes::testing::memory

// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/lease/lease_state.h"

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/queue/own_node/own_node_turns.h"
#include "zkrecipes/guarded_write.h"

namespace zkrecipes::internal {
namespace {

using ::testing::HasSubstr;
using State = Lease::State;

constexpr absl::Duration kTimeout = absl::Seconds(10);

// A reactor that is only a clock, ahead of the real one by what the test says.
class Clock : public zk::Reactor {
 public:
  void Post(Task) override {}
  TimerId CallAt(base::BootTime, Task) override { return 1; }
  void Cancel(TimerId) override {}
  base::BootTime Now() override { return now_; }
  uint64_t Random() override { return 0; }
  void Advance(absl::Duration by) { now_ = now_ + by; }

 private:
  base::BootTime now_ = base::BootNow();
};

class Holder : public LeaseHolder {
 public:
  void Leave(Waiter waiter) override {
    ++left;
    left_done = std::move(waiter);
    if (left_done != nullptr && answer.has_value()) std::exchange(left_done, nullptr)(*answer);
  }
  void Verify(Waiter waiter) override {
    if (answer.has_value()) std::move(waiter)(*answer);
  }

  int left = 0;
  Waiter left_done;
  std::optional<absl::Status> answer = absl::OkStatus();
};

class LeaseStateTest : public ::testing::Test {
 protected:
  LeaseStateTest() { Prove(); }
  // Of a Lease that ends with the call.
  absl::Status Release(const WaitOptions& wait = {}) {
    return LeaseMaker::Make(lease_).Release(wait);
  }
  std::shared_ptr<LeaseState> NewState(const LeaseTerms& terms = {}) {
    return std::make_shared<LeaseState>(core_, validity_, queue::machine::Grant{7, "/a/n-7", 7, 1},
                                        holder_, terms, core_->reach());
  }
  void Prove() {
    const base::BootTime deadline = clock_->Now() + kTimeout;
    (void)validity_->Prove(deadline, deadline, clock_->Now());
  }

  static void ExpectLost(const std::shared_ptr<LeaseState>& lease, const std::string& why) {
    EXPECT_EQ(lease->state(), State::kLost);
    EXPECT_EQ(lease->remaining(), absl::ZeroDuration());
    const absl::Status released = LeaseMaker::Make(lease).Release();
    EXPECT_EQ(released.code(), absl::StatusCode::kAborted);
    EXPECT_EQ(released.message(), "release /a/n-7: the lease had been lost: " + why);
  }

  const std::shared_ptr<Clock> clock_ = std::make_shared<Clock>();
  const std::shared_ptr<ClientCore> core_ = ClientCore::CreateIn(
      Environment{clock_, nullptr, nullptr, [] {}}, {.executor = InlineExecutor()}, {});
  const std::shared_ptr<session::SessionValidity> validity_ =
      std::make_shared<session::SessionValidity>();
  std::shared_ptr<Holder> holder_ = std::make_shared<Holder>();
  const std::shared_ptr<LeaseState> lease_ = NewState();
};

TEST_F(LeaseStateTest, IsHeldWhileItsSessionIsBelieved) {
  EXPECT_EQ(lease_->state(), State::kHeld);
  EXPECT_EQ(lease_->remaining(), kTimeout);
  clock_->Advance(absl::Seconds(4));
  EXPECT_EQ(lease_->remaining(), absl::Seconds(6));
  Prove();
  EXPECT_EQ(lease_->remaining(), kTimeout);
}

TEST_F(LeaseStateTest, IsSuspectWhileDisconnected) {
  validity_->SetConnected(false);
  EXPECT_EQ(lease_->state(), State::kSuspect);
  EXPECT_EQ(lease_->remaining(), kTimeout);
  validity_->SetConnected(true);
  EXPECT_EQ(lease_->state(), State::kHeld);
}

TEST_F(LeaseStateTest, IsLostInTheFirstCallAfterAPauseHoweverLong) {
  clock_->Advance(kTimeout);
  EXPECT_EQ(lease_->state(), State::kLost);
  EXPECT_FALSE(lease_->ended().stop_requested()) << "the reactor asks, when it wakes up";
  ExpectLost(lease_, "its session could not be proven to be alive in time");
  EXPECT_TRUE(lease_->ended().stop_requested()) << "or whoever finds it lost first";
}

// In lock-delay mode a write that is confirmed later moves the deadline.
TEST_F(LeaseStateTest, StaysLostOnceAnyCallHasFoundItLostByTheClock) {
  const std::pair<const char*, std::function<void(LeaseState&)>> calls[] = {
      {"state", [](LeaseState& lease) { (void)lease.state(); }},
      {"deadline", [](LeaseState& lease) { (void)lease.deadline(); }},
      {"remaining", [](LeaseState& lease) { (void)lease.remaining(); }},
      {"end_reason", [](LeaseState& lease) { (void)lease.end_reason(); }},
      {"released", [](LeaseState& lease) { (void)lease.released(); }},
      {"StillAlive", [](LeaseState& lease) { EXPECT_FALSE(lease.StillAlive()); }},
      {"CheckAlive", [](LeaseState& lease) { EXPECT_FALSE(lease.CheckAlive("act").ok()); }},
      {"BeginRelease", [](LeaseState& lease) { EXPECT_FALSE(lease.BeginRelease().ok()); }},
      {"End", [](LeaseState& lease) { (void)lease.End(LeaseEnd::kNodeDeleted); }},
      {"AnnounceIfEnded", [](LeaseState& lease) { lease.AnnounceIfEnded(); }},
  };
  for (const auto& [name, call] : calls) {
    validity_->Confirm(clock_->Now());
    const auto lease = NewState({.delay_lifetime = absl::Seconds(1)});
    EXPECT_EQ(lease->state(), State::kHeld) << name;
    clock_->Advance(absl::Seconds(1));
    call(*lease);
    validity_->Confirm(clock_->Now());
    EXPECT_EQ(lease->state(), State::kLost) << name;
    EXPECT_EQ(lease->end_reason(), LeaseEnd::kDeadlinePassed) << name;
  }
}

TEST_F(LeaseStateTest, SaysThatItEndsWithItsClientThoughItsTimeIsOverAlready) {
  clock_->Advance(kTimeout);
  EXPECT_EQ(lease_->state(), State::kLost);
  lease_->End(LeaseEnd::kClientClosed);
  EXPECT_TRUE(lease_->ended().stop_requested());
}

TEST_F(LeaseStateTest, ThatIsLostIsNeverHeldAgain) {
  lease_->End(LeaseEnd::kNodeDeleted);
  EXPECT_TRUE(lease_->ended().stop_requested());
  Prove();
  ExpectLost(lease_, "another client deleted its node");
  lease_->Abandon();
  EXPECT_EQ(lease_->state(), State::kLost);
  EXPECT_EQ(holder_->left, 0);
}

TEST_F(LeaseStateTest, ThatIsLostWithItsSessionSaysSo) {
  validity_->Expire(clock_->Now());
  lease_->AnnounceIfEnded();
  EXPECT_TRUE(lease_->ended().stop_requested());
  ExpectLost(lease_, "its session expired");
}

// A process that stood still finds its node gone, and its deadline passed: the second explains the
// first.
TEST_F(LeaseStateTest, KeepsTheFirstReasonWhoeverComesWithAnother) {
  clock_->Advance(kTimeout);
  EXPECT_EQ(lease_->End(LeaseEnd::kNodeDeleted), LeaseEnd::kDeadlinePassed);
  validity_->Expire(clock_->Now());
  EXPECT_EQ(lease_->End(LeaseEnd::kSessionExpired), LeaseEnd::kDeadlinePassed);
  EXPECT_EQ(lease_->end_reason(), LeaseEnd::kDeadlinePassed);
}

TEST_F(LeaseStateTest, SaysWhyItEnded) {
  EXPECT_EQ(lease_->end_reason(), std::nullopt);
  lease_->End(LeaseEnd::kNodeDeleted);
  EXPECT_EQ(lease_->end_reason(), LeaseEnd::kNodeDeleted);
  lease_->End(LeaseEnd::kClientClosed);
  EXPECT_EQ(lease_->end_reason(), LeaseEnd::kNodeDeleted);
}

TEST_F(LeaseStateTest, SaysThatItsDeadlineHasPassedBeforeAnythingElseHasNoticed) {
  clock_->Advance(kTimeout);
  EXPECT_EQ(lease_->end_reason(), LeaseEnd::kDeadlinePassed);
}

TEST_F(LeaseStateTest, IsReleasedOnceTheContenderSaysSo) {
  EXPECT_EQ(Release(), absl::OkStatus());
  EXPECT_EQ(holder_->left, 1);
  EXPECT_EQ(lease_->state(), State::kReleased);
  EXPECT_EQ(lease_->end_reason(), LeaseEnd::kReleased);
  EXPECT_EQ(lease_->remaining(), absl::ZeroDuration());
  EXPECT_TRUE(lease_->ended().stop_requested());
}

TEST_F(LeaseStateTest, PassesOnWhatTheContenderAnswers) {
  holder_->answer = absl::PermissionDeniedError("no");
  EXPECT_EQ(Release(), *holder_->answer);
}

TEST_F(LeaseStateTest, AReleaseThatIsNotConfirmedSaysThatItGoesOn) {
  holder_->answer = std::nullopt;
  const absl::Status late = Release({absl::ZeroDuration()});
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(late.message()),
              HasSubstr("/a/n-7: not confirmed; the deletion goes on"));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(LeaseMaker::Make(NewState()).Release({.cancel = stop.get_token()}).code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(holder_->left, 2);
}

TEST_F(LeaseStateTest, AReleaseThatIsNotConfirmedIsWaitedForAgain) {
  holder_->answer = std::nullopt;
  Lease lease = LeaseMaker::Make(NewState());
  EXPECT_TRUE(absl::IsDeadlineExceeded(std::move(lease).Release({absl::ZeroDuration()})));
  EXPECT_EQ(lease.state(), State::kReleased);
  holder_->answer = absl::OkStatus();
  EXPECT_EQ(std::move(lease).Release({}), absl::OkStatus());
  EXPECT_EQ(holder_->left, 2);
  holder_ = nullptr;
  EXPECT_EQ(std::move(lease).Release({}), absl::OkStatus()) << "nothing is left to wait for";
}

TEST_F(LeaseStateTest, AbandonedItLeavesWithoutWaiting) {
  holder_->answer = std::nullopt;
  lease_->Abandon();
  lease_->Abandon();
  EXPECT_EQ(holder_->left, 1);
  EXPECT_TRUE(holder_->left_done == nullptr);
  EXPECT_EQ(lease_->state(), State::kReleased);
  lease_->End(LeaseEnd::kSessionExpired);
  EXPECT_EQ(lease_->state(), State::kReleased);
}

TEST_F(LeaseStateTest, ThatTheClientClosedIsLostAndTellsItsReleaser) {
  lease_->End(LeaseEnd::kClientClosed);
  EXPECT_EQ(lease_->state(), State::kLost);
  EXPECT_TRUE(lease_->ended().stop_requested());
  EXPECT_EQ(holder_->left, 0) << "the contender leaves by itself";
  const absl::Status released = Release();
  EXPECT_EQ(released.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(released.message()), HasSubstr("the client was closed"));
}

// An operator is paged for a deletion, and nobody for a session that has ended.
TEST_F(LeaseStateTest, ThatAWriteFindsLostEndsForTheReasonThatTheWriteHasFound) {
  using Kind = queue::machine::WriteResult::Kind;
  const auto expect = [this](Kind kind, LeaseEnd why) {
    const std::shared_ptr<LeaseState> lease = NewState();
    absl::Status told;
    queue::own_node::OwnNodeTurn turn(lease, {"write", {}}, {}, [&](absl::Status status) {
      EXPECT_EQ(lease->end_reason(), why);
      told = std::move(status);
    });
    turn.Answer({.kind = kind, .may_be_written = true}, "/a/n-7");
    EXPECT_EQ(told.code(), absl::StatusCode::kAborted);
    EXPECT_TRUE(MayBeWritten(told));
  };
  expect(Kind::kNodeGone, LeaseEnd::kNodeDeleted);
  expect(Kind::kSessionEnded, LeaseEnd::kSessionExpired);
}

// Its threads are the parent's, and so is the node.
TEST_F(LeaseStateTest, AForkedChildLeaksItAndTellsNoHolder) {
  const auto exits_with = [](const std::function<bool()>& passes) {
    const pid_t child = fork();
    if (child == 0) _exit(passes() ? 0 : 1);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  };
  std::shared_ptr<LeaseState> state = NewState();
  const std::weak_ptr<LeaseState> weak = state;
  Lease lease = LeaseMaker::Make(std::move(state));
  EXPECT_EQ(exits_with([&] {
              { const Lease dropped = std::move(lease); }
              return !weak.expired() && holder_->left == 0;
            }),
            0);
  EXPECT_EQ(exits_with([&] {
              (void)std::move(lease).Release({});
              return !weak.expired() && holder_->left == 0;
            }),
            0);
}

}  // namespace
}  // namespace zkrecipes::internal

// SPDX-License-Identifier: Apache-2.0
//
// Objects that go away early: clients before their leases, leases that are not read, callbacks that
// drop their caller, waits cut short. Every answer comes once. And leases that their holders lose.

#include <atomic>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/forked_child.h"
#include "integration/fixtures/recording_executor.h"
#include "lib/base/one_shot.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

class LockLifetimeTest : public ClientTest {
 protected:
  template <typename T>
  T Await(base::OneShot<T>& shot) {
    auto value = shot.Take(base::BootNow() + kSoon);
    EXPECT_TRUE(value.has_value());
    return *std::move(value);
  }
};

TEST_F(LockLifetimeTest, TheLastReferenceToAClientMayGoInsideItsCallback) {
  auto observer = NewClient();
  for (const auto& executor : {std::shared_ptr<Executor>(), InlineExecutor()}) {
    auto client = NewClient({.executor = executor});
    auto dropped = std::make_shared<base::OneShot<absl::Status>>();
    Lock* const lock = new Lock(client, node_path());
    lock->AcquireAsync({}, [client = std::move(client), dropped](absl::StatusOr<Lease> l) mutable {
      client.reset();
      dropped->Set(l.status());
    });
    delete lock;
    EXPECT_EQ(Await(*dropped), absl::OkStatus());
    EXPECT_TRUE(AwaitQueue(*observer, 0));
  }
}

TEST_F(LockLifetimeTest, BlockingCallsOnTheIoThreadFailAtOnce) {
  auto client = NewClient({.executor = InlineExecutor()});
  base::OneShot<std::vector<absl::Status>> tried;
  Lock(client, node_path()).AcquireAsync({}, [&](absl::StatusOr<Lease> lease) {
    Lock lock(client, node_path());
    tried.Set({lock.Acquire().status(), lock.TryAcquire().status(), client->Close(),
               ListContenders(*client, node_path()).status(), (*std::move(lease)).Release()});
  });
  for (const absl::Status& status : Await(tried)) {
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("I/O thread"));
  }
  EXPECT_TRUE(AwaitQueue(*client, 0)) << "the release goes on in the background";
}

TEST_F(LockLifetimeTest, AnswersComeOnTheExecutorAndNeverInline) {
  auto executor = std::make_shared<RecordingExecutor>();
  auto client = NewClient({.executor = executor});
  base::OneShot<bool> blocked;
  executor->Execute([&] { Await(blocked); });  // so that no answer can come yet
  std::atomic<int> answers = 0;
  std::atomic<int> elsewhere = 0;
  const auto count = [&](const absl::StatusOr<Lease>&) {
    if (!executor->IsThisThread()) ++elsewhere;
    ++answers;  // last: the test may end then
  };
  std::stop_source stopped;
  stopped.request_stop();
  Lock(client, node_path()).AcquireAsync({}, count);
  Lock(client, "relative").AcquireAsync({}, count);
  Lock(client, node_path()).AcquireAsync({-absl::Seconds(1)}, count);
  Lock(client, node_path()).AcquireAsync({.cancel = stopped.get_token()}, count);
  Lock(client, node_path()).AcquireAsync({absl::ZeroDuration()}, count);
  EXPECT_TRUE(Eventually([&] { return executor->tasks() >= 6; }));
  EXPECT_EQ(answers, 0);
  blocked.Set(true);
  EXPECT_TRUE(Eventually([&] { return answers == 5; }));
  EXPECT_EQ(elsewhere, 0);
  ASSERT_EQ(client->Close({kSoon}), absl::OkStatus());
  Lock(client, node_path()).AcquireAsync({}, count);
  EXPECT_TRUE(Eventually([&] { return answers == 6; }));
  EXPECT_EQ(elsewhere, 0);
}

TEST_F(LockLifetimeTest, AnAnswerThatTheExecutorDropsIsReleased) {
  auto executor = std::make_shared<RecordingExecutor>();
  auto client = NewClient({.executor = executor});
  auto observer = NewClient();
  executor->Drop();
  const Pending dropped(client, node_path());
  EXPECT_TRUE(Eventually([&] { return executor->tasks() >= 1; }));
  EXPECT_TRUE(AwaitQueue(*observer, 0));
  EXPECT_FALSE(dropped.answered());
}

TEST_F(LockLifetimeTest, AnAcquireWithoutTimeOrCancelledBeforeLeavesNothing) {
  auto client = NewClient();
  std::stop_source stop;
  auto lease = Lock(client, node_path() + "-other").Acquire({.cancel = stop.get_token()});
  ASSERT_TRUE(lease.ok()) << lease.status();
  stop.request_stop();
  EXPECT_EQ(lease->state(), Lease::State::kHeld) << "a grant cannot be cancelled";
  Lock lock(client, node_path());
  for (const auto& [wait, code] :
       {std::pair(WaitOptions{absl::ZeroDuration()}, StatusCode::kDeadlineExceeded),
        std::pair(WaitOptions{.cancel = stop.get_token()}, StatusCode::kCancelled)}) {
    EXPECT_EQ(lock.Acquire(wait).status().code(), code);
    EXPECT_EQ(lock.TryAcquire(wait).status().code(), code);
    // It may be answered before it looks whether it is cancelled: at times.
    StatusCode asked = StatusCode::kOk;
    for (int i = 0; i < 5 && asked == StatusCode::kOk; ++i) {
      asked = Pending(client, node_path(), wait).Code();
    }
    EXPECT_EQ(asked, code);
    EXPECT_TRUE(AwaitQueue(*client, 0));
  }
  EXPECT_TRUE(lock.Acquire({kSoon}).ok());
}

// The cancellation meets the acquire at any point of its way.
TEST_F(LockLifetimeTest, ACancellationAtAnyMomentGivesOneAnswerAndLeavesNothing) {
  auto client = NewClient();
  for (int i = 0; i < 100; ++i) {
    std::stop_source stop;
    Pending pending(client, node_path(), {.cancel = stop.get_token()});
    absl::SleepFor(absl::Microseconds(20 * i));
    stop.request_stop();
    const absl::StatusOr<Lease> answer = pending.Get();
    EXPECT_TRUE(answer.ok() || absl::IsCancelled(answer.status())) << answer.status();
    EXPECT_EQ(pending.answers(), 1);
  }
  EXPECT_TRUE(AwaitQueue(*client, 0));
}

TEST_F(LockLifetimeTest, ALeaseMovesAndTheTargetOfAMoveIsReleased) {
  auto client = NewClient();
  Lease first = Acquired(client);
  const std::stop_token first_lost = first.ended();
  Lease second = Acquired(client, node_path() + "/other");
  const FencingToken token = second.token();
  first = std::move(second);
  EXPECT_TRUE(Eventually([&] { return first_lost.stop_requested(); }));
  EXPECT_TRUE(AwaitQueue(*client, 0));
  EXPECT_EQ(first.token(), token);
  EXPECT_EQ(first.state(), Lease::State::kHeld);
  EXPECT_EQ(second.state(), Lease::State::kReleased);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(std::move(second).Release().code(), StatusCode::kFailedPrecondition);
}

// ---- Losses that LossInAWorld cannot play -------------------------------------------------------

constexpr absl::Duration kShortSession = absl::Seconds(5);

class LockLossTest : public ClientTest {};

TEST_F(LockLossTest, ALeaseThatLapsedWithoutAQuorumStaysLostAndTheLockCanBeHadAgain) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  auto holder = NewClient({.session_timeout = kShortSession});
  auto other = NewClient();  // with a timeout so long that its lease outlives the pause
  std::optional<Lease> lease = Acquired(holder);
  const FencingToken token = lease->token();
  Pending waiter(other, node_path());
  ASSERT_TRUE(AwaitQueue(*other, 2));
  for (int i = 0; i < members().size(); ++i) ASSERT_EQ(members().Pause(i), absl::OkStatus());
  EXPECT_TRUE(Eventually([&] { return lease->ended().stop_requested(); }));
  EXPECT_EQ(lease->state(), Lease::State::kLost);
  EXPECT_FALSE(waiter.answered());
  ASSERT_EQ(ensemble().Heal(), absl::OkStatus());
  auto next = waiter.Get();
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_GT(next->token(), token);
  EXPECT_EQ(lease->state(), Lease::State::kLost);
  Pending again(holder, node_path());
  const FencingToken second = next->token();
  EXPECT_TRUE(AwaitQueue(*holder, 2));
  next = absl::UnknownError("released");
  auto third = again.Get();
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_GT(third->token(), second);
}

// The holder's process is stopped for longer than its session lives.
class LockPauseTest : public ClientTest {};

TEST_F(LockPauseTest, AStoppedHolderReadsThatItLostInItsFirstCall) {
  ForkedChild holder([this](Line& line) {
    auto client = NewClient({.session_timeout = kShortSession});
    const Lease lease = Acquired(client);
    EXPECT_EQ(lease.state(), Lease::State::kHeld);
    line.Say();
    EXPECT_TRUE(line.Hear());  // said while this process was stopped
    EXPECT_EQ(lease.state(), Lease::State::kLost);
    EXPECT_EQ(lease.remaining(), absl::ZeroDuration());
    EXPECT_EQ(lease.Verify({kSoon}).code(), absl::StatusCode::kAborted);
    EXPECT_TRUE(Eventually([&] { return lease.ended().stop_requested(); }));
  });
  ASSERT_TRUE(holder.line().Hear());
  auto other = NewClient();
  Pending waiter(other, node_path());
  ASSERT_TRUE(AwaitQueue(*other, 2));

  ASSERT_EQ(kill(holder.pid(), SIGSTOP), 0);
  holder.line().Say();
  EXPECT_TRUE(waiter.Get().ok());
  ASSERT_EQ(kill(holder.pid(), SIGCONT), 0);
  holder.Wait();
}

}  // namespace
}  // namespace zkrecipes::integration

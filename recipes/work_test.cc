// SPDX-License-Identifier: Apache-2.0
//
// The loop of lease_work.h, of each recipe that has it: its work, its ends and its rests.

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <stop_token>
#include <utility>

#include "gmock/gmock.h"

#include "lib/queue/acquire/work_loop.h"
#include "lib/session/client/client_core.h"
#include "recipes/work_fixture.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::testing {
namespace {

using absl::StatusCode;
using ::testing::IsEmpty;

class WorkTest : public ::testing::TestWithParam<WorkRecipe> {
 protected:
  ~WorkTest() override {
    stop_.request_stop();
    if (run_.valid()) (void)AwaitEnd();
  }

  // On a thread of its own, until the test's stop.
  void Start(LeaseWork work, const RunOptions& options = {}) {
    Begin([run = GetParam().Of(client_, "/q"), options, stop = stop_.get_token(),
           work = std::move(work)]() mutable { return run(stop, std::move(work), options); });
  }
  void Begin(absl::AnyInvocable<absl::Status()> run) {
    run_ = std::async(std::launch::async, std::move(run));
  }
  bool over() const { return run_.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
  bool Await(const std::function<bool()>& condition) { return ensemble_.AdvanceUntil(condition); }
  absl::Status AwaitEnd() {
    EXPECT_TRUE(Await([this] { return over(); }));
    return run_.get();
  }
  // Without any time of the ensemble's.
  absl::Status EndNow() {
    EXPECT_EQ(run_.wait_for(std::chrono::seconds(30)), std::future_status::ready);
    return AwaitEnd();
  }
  size_t queued() { return ensemble_.Paths("/q").size(); }

  // Work that lasts until its end is requested.
  LeaseWork Lasting() {
    return [this](const Lease& lease, const std::stop_token& end) {
      EXPECT_GT(lease.token(), token_.load());
      token_ = lease.token();
      EXPECT_TRUE(lease.believed());
      std::binary_semaphore ended(0);
      ++terms_;
      {
        const std::stop_callback on_end(end, [&ended] { ended.release(); });
        ended.acquire();
      }
      why_ = lease.end_reason();
      ++ended_;
    };
  }
  // Work that returns at once.
  LeaseWork Brief() {
    return [this](const Lease&, const std::stop_token&) { ++terms_; };
  }

  InMemoryEnsemble ensemble_;
  std::shared_ptr<Client> client_ = *ensemble_.Connect();
  std::stop_source stop_;
  std::atomic<int> terms_ = 0;
  std::atomic<int> ended_ = 0;
  std::atomic<FencingToken> token_{FencingToken()};
  std::optional<LeaseEnd> why_;  // the last work's lease had ended

 private:
  std::future<absl::Status> run_;
};

INSTANTIATE_TEST_SUITE_P(Of, WorkTest, ::testing::ValuesIn(kWorkRecipes), NameOf);

TEST_P(WorkTest, IsToldOfALossAndRunsAgain) {
  Start(Lasting());
  ASSERT_TRUE(Await([this] { return terms_ == 1; }));
  ensemble_.Expire(*client_);
  ASSERT_TRUE(Await([this] { return terms_ == 2; }));
  EXPECT_EQ(why_, LeaseEnd::kSessionExpired);
  stop_.request_stop();
  EXPECT_EQ(AwaitEnd(), absl::OkStatus());
  EXPECT_EQ(ended_, 2);
  EXPECT_EQ(why_, std::nullopt) << "a stop is no loss";
  EXPECT_EQ(queued(), 0u);
}

TEST_P(WorkTest, OutlivesItsRecipeItsOptionsAndItsUsersClient) {
  struct Service {
    RunsWork run;
    RunOptions options;
  };
  const std::weak_ptr<Client> client = client_;
  auto service = std::make_unique<Service>(
      Service{GetParam().Of(std::exchange(client_, nullptr), "/q"), {.once = false}});
  Begin([&] {
    return service->run(
        stop_.get_token(),
        [&](const Lease& lease, const std::stop_token&) {
          service.reset();
          EXPECT_FALSE(client.expired());
          EXPECT_TRUE(lease.believed());
          if (++terms_ == 2) stop_.request_stop();
        },
        service->options);
  });
  EXPECT_EQ(AwaitEnd(), absl::OkStatus());
  EXPECT_EQ(terms_, 2);
  EXPECT_TRUE(client.expired());
}

TEST_P(WorkTest, MayThrowWhichReleasesTheLease) {
  const RunsWork run = GetParam().Of(client_, "/q");
  const auto work = [](const Lease&, const std::stop_token&) {
    throw std::runtime_error("thrown");
  };
  EXPECT_THROW((void)run({}, work, {}), std::runtime_error);
  EXPECT_EQ(GetParam().in_the_way(*ensemble_.Connect(), "/q").status(), absl::OkStatus());
}

TEST_P(WorkTest, DoesNotBeginIfItIsStoppedWhileItWaitsForItsTurn) {
  const auto other = *ensemble_.Connect();
  const auto in_the_way = GetParam().in_the_way(other, "/q");
  Start(Brief());
  ASSERT_TRUE(Await([this] { return queued() == 2; }));
  stop_.request_stop();
  EXPECT_EQ(EndNow(), absl::OkStatus());
  EXPECT_EQ(terms_, 0);
  ensemble_.RunUntilIdle();
  EXPECT_EQ(queued(), 1u);
}

TEST_P(WorkTest, IsStoppedInAPause) {
  Start(Brief(), {.first_pause = absl::Seconds(10)});
  ASSERT_TRUE(Await([this] { return terms_ == 1 && queued() == 0; }));
  stop_.request_stop();
  EXPECT_EQ(EndNow(), absl::OkStatus());
  EXPECT_EQ(terms_, 1);
}

TEST_P(WorkTest, ThatReturnsAtOnceRestsLongerAndLonger) {
  Start(Brief(), {.first_pause = absl::Seconds(1), .longest_pause = absl::Seconds(8)});
  ASSERT_TRUE(Await([this] { return terms_ >= 6; }));
  EXPECT_GE(ensemble_.Elapsed(), absl::Seconds(0.5 + 1 + 2 + 4 + 4));
}

TEST_P(WorkTest, AReleaseThatIsNotConfirmedTakesASessionTimeoutAtMost) {
  for (const bool once : {false, true}) {
    Start(
        [this](const Lease&, const std::stop_token&) {
          ensemble_.Silence(*client_);
          ++terms_;
        },
        {.once = once});
    ASSERT_TRUE(Await([this] { return ended_ + 1 == terms_; }));
    ++ended_;
    if (!once) stop_.request_stop();  // which the release does not heed
    const absl::Duration began = ensemble_.Elapsed();
    EXPECT_EQ(AwaitEnd().code(), StatusCode::kDeadlineExceeded);
    EXPECT_LE(ensemble_.Elapsed() - began, client_->session_timeout() + absl::Seconds(1));
    ensemble_.Reconnect(*client_);
    ensemble_.Advance(absl::Seconds(30));
    EXPECT_EQ(queued(), 0u);
    stop_ = std::stop_source();
  }
}

// What became of the node is not known, whatever is given up behind that.
TEST_P(WorkTest, AReleaseThatIsNotConfirmedIsToldAfterAnAcquireThatIsGivenUp) {
  std::stop_token released;
  Start([&](const Lease& lease, const std::stop_token&) {
    ensemble_.Disconnect(*client_);
    released = lease.ended();
    ++terms_;
  });
  ASSERT_TRUE(Await([&] { return terms_ == 1 && released.stop_requested(); }));
  ensemble_.Advance(absl::Minutes(1));  // it waits for its second lease
  stop_.request_stop();
  EXPECT_EQ(EndNow().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(terms_, 1);
}

// A standby that is stopped days after such a release has left nothing behind.
TEST_P(WorkTest, AReleaseThatWasNotConfirmedIsForgottenWithAConnection) {
  Start([this](const Lease&, const std::stop_token&) {
    if (terms_ == 0) ensemble_.Disconnect(*client_);
    ++terms_;
  });
  ASSERT_TRUE(Await([this] { return terms_ == 1; }));
  ensemble_.Advance(absl::Minutes(1));
  const auto other = *ensemble_.Connect();
  const auto in_the_way = GetParam().in_the_way(other, "/q");
  ASSERT_TRUE(in_the_way.ok()) << in_the_way.status();
  ensemble_.Reconnect(*client_);
  ASSERT_TRUE(Await([this] { return queued() == 2; }));  // with its second acquire
  ensemble_.Advance(absl::Minutes(1));
  stop_.request_stop();
  EXPECT_EQ(EndNow(), absl::OkStatus());
  EXPECT_EQ(terms_, 1);
}

TEST_P(WorkTest, ThatIsNoneIsRefusedBeforeItTakesALease) {
  EXPECT_EQ(GetParam().Of(client_, "/q")({}, nullptr, {}).code(), StatusCode::kInvalidArgument);
}

TEST_P(WorkTest, EndsWithAnErrorThatATryWouldOnlyHide) {
  Start(Brief());
  ASSERT_TRUE(Await([this] { return terms_ == 1; }));
  ensemble_.Create("/q");
  ensemble_.UseUpNumbers("/q");
  EXPECT_EQ(AwaitEnd().code(), StatusCode::kResourceExhausted);
}

TEST_P(WorkTest, EndsWithItsClient) {
  Start(Lasting());
  ASSERT_TRUE(Await([this] { return terms_ == 1; }));
  EXPECT_EQ(client_->Close(), absl::OkStatus());
  EXPECT_EQ(AwaitEnd().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(why_, LeaseEnd::kClientClosed);
}

// ---- between the grant and the work -------------------------------------------------------------

class GrantedWorkTest : public WorkTest {
 protected:
  // Calls `then` with each lease before the loop gets it.
  void StartWith(std::function<void(const Lease&)> then) {
    const auto acquire =
        [this, then = std::move(then)](const WaitOptions& wait) -> absl::StatusOr<Lease> {
      ++asked_;
      absl::StatusOr<Lease> lease =
          Lock(client_, "/q", {.hold_at_most = absl::Seconds(1)}).Acquire(wait);
      if (lease.ok()) then(*lease);
      return lease;
    };
    Begin([this, acquire] {
      return queue::acquire::RunWork(internal::ClientAccess::Core(*client_), acquire,
                                     stop_.get_token(), Lasting(), {.once = once_});
    });
  }

  bool once_ = false;
  std::atomic<int> asked_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Of, GrantedWorkTest, ::testing::Values(kWorkRecipes[0]), NameOf);

// The process stands still, so that no notice of the loss has come.
TEST_P(GrantedWorkTest, DoesNotBeginUnderALeaseThatIsLost) {
  std::atomic<bool> granted = false;
  std::binary_semaphore lost(0);
  StartWith([&](const Lease&) {
    if (!granted.exchange(true)) lost.acquire();
  });
  ASSERT_TRUE(Await([&] { return granted.load(); }));
  ensemble_.Pause(*client_);
  ensemble_.Advance(absl::Seconds(2));
  lost.release();
  EXPECT_TRUE(Await([this] { return asked_ == 2; }));
  EXPECT_EQ(terms_, 0);
  ensemble_.Resume(*client_);
  EXPECT_TRUE(Await([this] { return terms_ == 1; }));
}

TEST_P(GrantedWorkTest, ThatIsToRunOnceSaysThatItsLeaseWasLostBefore) {
  once_ = true;
  std::atomic<bool> granted = false;
  std::binary_semaphore lost(0);
  StartWith([&](const Lease&) {
    granted = true;
    lost.acquire();
  });
  ASSERT_TRUE(Await([&] { return granted.load(); }));
  ensemble_.Advance(absl::Seconds(2));
  lost.release();
  EXPECT_EQ(AwaitEnd().code(), StatusCode::kAborted);
  EXPECT_EQ(terms_, 0);
}

TEST_P(GrantedWorkTest, DoesNotBeginAfterAStop) {
  StartWith([this](const Lease&) { stop_.request_stop(); });
  EXPECT_EQ(EndNow(), absl::OkStatus());
  EXPECT_EQ(terms_, 0);
  EXPECT_EQ(queued(), 0u);
}

}  // namespace
}  // namespace zkrecipes::testing

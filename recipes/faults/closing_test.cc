// SPDX-License-Identifier: Apache-2.0
//
// A client that is closed without a thread that waits.

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

#include "lib/base/one_shot.h"
#include "recipes/step_fixture.h"
#include "testing/coroutine_types.h"
#include "zkrecipes/lock.h"

namespace zkrecipes::testing {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ClosingTest : public StepTest {
 protected:
  const std::string path_ = "/locks/ledger";

  auto Answer() {
    return [this](absl::Status status) { answers_.push_back(std::move(status)); };
  }

  std::vector<absl::Status> answers_;
};

TEST_F(ClosingTest, AnswersOnceAndOnTheExecutorAloneWhenAllIsGone) {
  const auto client = Connect(executor_);
  std::optional<absl::StatusOr<Lease>> lease;
  Lock(client, path_).AcquireAsync({}, [&](absl::StatusOr<Lease> granted) {
    lease.emplace(std::move(granted));
  });
  RunAll();
  ASSERT_TRUE(lease && lease->ok());
  client->CloseAsync({}, Answer());
  EXPECT_EQ(client->state(), ClientState::kConnected) << "it has not blocked";
  ensemble_.RunUntilIdle();
  EXPECT_EQ(client->state(), ClientState::kClosed);
  EXPECT_THAT(ensemble_.Paths(path_), IsEmpty());
  EXPECT_THAT(answers_, IsEmpty());
  RunAll();
  EXPECT_THAT(answers_, ElementsAre(absl::OkStatus()));
  EXPECT_FALSE((*lease)->believed());
  ensemble_.Advance(absl::Minutes(1));
  RunAll();
  EXPECT_THAT(answers_, SizeIs(1));
}

TEST_F(ClosingTest, AnswersThoughEveryPointerToTheClientIsGone) {
  auto client = Connect(executor_);
  client->CloseAsync({}, Answer());
  client.reset();
  RunAll();
  EXPECT_THAT(answers_, ElementsAre(absl::OkStatus()));
}

TEST_F(ClosingTest, LetsTheLastPointerGoInsideItsCallback) {
  for (const std::shared_ptr<Executor>& executor :
       {std::static_pointer_cast<Executor>(executor_), InlineExecutor()}) {
    auto client = Connect(executor);
    Client& closed = *client;
    closed.CloseAsync({}, [this, last = std::move(client)](const absl::Status& status) mutable {
      answers_.push_back(status);
      last.reset();
    });
    RunAll();
  }
  EXPECT_THAT(answers_, ElementsAre(absl::OkStatus(), absl::OkStatus()));
}

TEST_F(ClosingTest, MayBeginOnTheIoThreadWhereCloseWouldBlock) {
  const auto client = Connect(InlineExecutor());
  absl::Status blocking;
  Lock(client, path_).AcquireAsync({}, [&](const absl::StatusOr<Lease>&) {
    blocking = client->Close();
    client->CloseAsync({}, Answer());
  });
  ensemble_.RunUntilIdle();
  EXPECT_EQ(blocking.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(answers_, ElementsAre(absl::OkStatus()));
  EXPECT_THAT(ensemble_.Paths(path_), IsEmpty());
}

TEST_F(ClosingTest, GoesOnWhenItsTimeIsOverAndTellsALaterCloseTheOutcome) {
  const auto client = Connect(executor_);
  ensemble_.HoldReplies(*client);
  client->CloseAsync({absl::Milliseconds(100)}, Answer());
  ensemble_.Advance(absl::Milliseconds(200));
  RunAll();
  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_EQ(answers_[0].code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(answers_[0].message()), HasSubstr("goes on in the background"));
  EXPECT_EQ(client->state(), ClientState::kConnected);
  client->CloseAsync({}, Answer());
  ensemble_.Reconnect(*client);
  RunAll();
  EXPECT_THAT(answers_, ElementsAre(answers_[0], absl::OkStatus()));
  client->CloseAsync({}, Answer());
  RunAll();
  EXPECT_THAT(answers_, ElementsAre(answers_[0], absl::OkStatus(), absl::OkStatus()));
}

TEST_F(ClosingTest, ThatIsCancelledBeforehandClosesTheClientAllTheSame) {
  const auto client = Connect(executor_);
  std::stop_source stop;
  stop.request_stop();
  client->CloseAsync({.cancel = stop.get_token()}, Answer());
  RunAll();
  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_EQ(answers_[0].code(), StatusCode::kCancelled);
  EXPECT_EQ(client->state(), ClientState::kClosed);
}

TEST_F(ClosingTest, DoesNothingForATimeoutThatIsNone) {
  const auto client = Connect(executor_);
  client->CloseAsync({-absl::Seconds(1)}, Answer());
  RunAll();
  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_EQ(answers_[0].code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(client->state(), ClientState::kConnected);
}

DetachedCoroutine CloseAndNote(std::shared_ptr<Client> client, std::vector<absl::Status>* answers) {
  // The client goes while the coroutine waits.
  auto closing = client->CoClose(absl::Seconds(30));
  client.reset();
  const absl::Status closed = co_await std::move(closing);
  answers->push_back(closed);
}

TEST_F(ClosingTest, ResumesACoroutineThatAwaitsIt) {
  (void)CloseAndNote(Connect(executor_), &answers_);
  ensemble_.RunUntilIdle();
  EXPECT_THAT(answers_, IsEmpty());
  RunAll();
  EXPECT_THAT(answers_, ElementsAre(absl::OkStatus()));
}

// Blocking or not, all are answered by the one closing that there is.
TEST(ClosingOnThreads, AnswersEachOfThoseThatCloseAtOnce) {
  constexpr int kRounds = 100;
  using Shot = base::OneShot<absl::Status>;
  InMemoryEnsemble ensemble;
  for (int round = 0; round < kRounds; ++round) {
    auto client = *ensemble.Connect();
    std::vector<std::shared_ptr<Shot>> shots;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t) {
      shots.push_back(std::make_shared<Shot>());
      threads.emplace_back([&client, shot = shots.back()] {
        client->CloseAsync({}, [shot](const absl::Status& status) {
          EXPECT_TRUE(shot->Set(status)) << "it was answered twice";
        });
      });
      threads.emplace_back([&client] { EXPECT_EQ(client->Close(), absl::OkStatus()); });
    }
    threads.clear();
    client.reset();
    for (const auto& shot : shots) {
      EXPECT_EQ(shot->Take(base::BootNow() + absl::Seconds(20)), absl::OkStatus());
    }
  }
}

}  // namespace
}  // namespace zkrecipes::testing

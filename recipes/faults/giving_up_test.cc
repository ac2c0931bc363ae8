// SPDX-License-Identifier: Apache-2.0
//
// What a user is told that was not granted the lock: who is in the way, or that there is no
// connection.

#include <unistd.h>

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "lib/queue/acquire/acquisition.h"
#include "lib/queue/call/call.h"
#include "recipes/lock_fixture.h"

namespace zkrecipes::testing::memory {
namespace {

using absl::StatusCode;
using queue::acquire::Enter;
using queue::machine::Candidacy;
using queue::machine::Mode;
using ::testing::HasSubstr;
using ::testing::Not;

class GivingUpInMemoryTest : public LockInMemoryTest {
 protected:
  std::unique_ptr<LockUser> StartNamed(const std::string& id) {
    auto user = std::make_unique<LockUser>();
    memory::Start(simulation_, *user, {.owner_id = id});
    return user;
  }
  std::unique_ptr<LockUser> StartHolderNamed(const std::string& id) {
    auto user = StartNamed(id);
    Acquire(*user);
    EXPECT_TRUE(user->holds());
    return user;
  }
  static void Begin(LockUser& user, const Candidacy& candidacy, const WaitOptions& wait = {}) {
    queue::call::Begin(Enter(internal::PathQueue::Of(*user.client, kPath), candidacy), wait,
                       [&user](queue::acquire::Answer answer) {
                         ++user.answers;
                         user.result.emplace(std::move(answer));
                       });
  }
  void Ask(LockUser& user, const Candidacy& candidacy, const WaitOptions& wait = {}) {
    Begin(user, candidacy, wait);
    simulation_.RunUntilIdle();
  }
  static std::string Message(const LockUser& user) {
    return std::string(user.result->status().message());
  }
  // How its node's data names this process.
  static std::string Process(const std::string& id) {
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    return absl::StrCat("held by ", id, " (host ", host, ", pid ", getpid(),
                        "), in the queue since ");
  }
  static std::string NodeOf(const LockUser& holder) { return (*holder.result)->node(); }
};

TEST_F(GivingUpInMemoryTest, ATimeoutSaysBehindHowManyAndWhoHolds) {
  auto holder = StartHolderNamed("ledger-7");
  auto second = StartWaiter();
  auto third = StartWaiter({absl::Seconds(5)});
  auto last = StartWaiter();
  PassTime(absl::Seconds(5));
  ASSERT_EQ(third->answers, 1);
  EXPECT_EQ(third->code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(*third), HasSubstr(absl::StrCat("not granted within 5s: behind 2 others, ",
                                                      Process("ledger-7"))));
  for (auto* user : {&holder, &second, &last}) (*user)->client.reset();
  ExpectNothingLeft();
}

TEST_F(GivingUpInMemoryTest, ATimeoutSaysWhoHoldsNowAndNotWhoDidAtFirst) {
  auto first = StartHolderNamed("first");
  auto second = StartNamed("second");
  Acquire(*second);
  auto third = StartWaiter({absl::Seconds(5)});
  PassTime(absl::Seconds(2));
  Release(*first);
  PassTime(absl::Seconds(3));
  EXPECT_THAT(Message(*third), HasSubstr(absl::StrCat("behind 1 other, ", Process("second"))));
}

TEST_F(GivingUpInMemoryTest, ATimeoutInALockDelaySaysThatItWasFirst) {
  auto holder = Start();
  holder->lock_options.lock_delay = absl::Minutes(1);
  Acquire(*holder);
  ASSERT_TRUE(holder->holds());
  Expire(*holder);
  auto waiter = Start();
  waiter->lock_options.lock_delay = absl::Minutes(1);
  Acquire(*waiter, {absl::Seconds(5)});
  PassTime(absl::Seconds(5));
  ASSERT_EQ(waiter->answers, 1);
  EXPECT_THAT(Message(*waiter), HasSubstr("first in the queue, but a lock delay is not over"));
}

TEST_F(GivingUpInMemoryTest, ATimeoutBoundsTheWaitForAProofAndSaysSo) {
  for (const bool try_only : {false, true}) {
    auto user = Start();
    PassTime(absl::Minutes(5));
    Ask(*user, {.try_only = try_only}, {absl::Milliseconds(50)});
    EXPECT_EQ(Queue().size(), 1u) << "it is first";
    PassTime(absl::Milliseconds(50));
    ASSERT_EQ(user->answers, 1);
    EXPECT_EQ(user->code(), StatusCode::kDeadlineExceeded) << user->result->status();
    EXPECT_THAT(Message(*user), HasSubstr("first in the queue, but a lock delay is not over or the "
                                          "session is not proven alive"));
    user->client.reset();
    ExpectNothingLeft();
  }
}

// Otherwise calls with less time than a proof takes would never get a lock that is free.
TEST_F(GivingUpInMemoryTest, AfterATimeoutWithoutAProofTheNextTryGoesOnFromThere) {
  auto user = Start();
  PassTime(absl::Minutes(5));
  Ask(*user, {.try_only = true}, {absl::Milliseconds(50)});
  for (const double share : {0.1, 0.4, 0.95}) {
    PassTime(share * user->client->session_timeout());
    ASSERT_EQ(user->code(), StatusCode::kDeadlineExceeded) << user->result->status();
    Ask(*user, {.try_only = true}, {absl::Milliseconds(50)});
    EXPECT_EQ(user->code(), StatusCode::kOk) << share << ": " << user->result->status();
    Release(*user);
    PassTime(absl::Minutes(5));
    Ask(*user, {.try_only = true}, {absl::Milliseconds(50)});
  }
  PassTime(absl::Seconds(1));  // until the last one is answered, too
}

// So std::lock releases what it has and waits, and a user may try again.
TEST_F(GivingUpInMemoryTest, ATryThatOnlyWaitsForALockDelaySaysSoAndIsBusy) {
  auto holder = Start();
  holder->lock_options.lock_delay = absl::Minutes(1);
  Acquire(*holder);
  Expire(*holder);
  auto user = Start();
  for (int i = 0; i < 12; ++i) {
    user->answers = 0;
    Begin(*user, {.lock_delay = absl::Minutes(1), .try_only = true}, {absl::Seconds(5)});
    PassTime(absl::Seconds(5));
    ASSERT_EQ(user->answers, 1);
    EXPECT_TRUE(IsBusy(user->result->status()));
    EXPECT_THAT(Message(*user), HasSubstr("busy: a lock delay is not over"));
  }
  Begin(*user, {.lock_delay = absl::Minutes(1), .try_only = true}, {absl::Seconds(5)});
  PassTime(absl::Seconds(1.1));
  EXPECT_TRUE(user->holds());
}

TEST_F(GivingUpInMemoryTest, ATryIsBusyThoughItsDeadlineComesJustBehindALockDelay) {
  auto holder = Start();
  holder->lock_options.lock_delay = absl::Minutes(1);
  Acquire(*holder);
  Expire(*holder);
  auto user = Start();
  Begin(*user, {.lock_delay = absl::Minutes(1), .try_only = true},
        {absl::Minutes(1) + absl::Milliseconds(20)});
  PassTime(absl::Minutes(1) - absl::Milliseconds(20));
  user->host->set_network(Host::Network::kSilent);  // its listing is not answered any more
  PassTime(absl::Milliseconds(40));
  ASSERT_EQ(user->answers, 1);
  EXPECT_TRUE(IsBusy(user->result->status())) << user->result->status();
}

TEST_F(GivingUpInMemoryTest, ACancelledWaitSaysForHowManyAtMost) {
  auto holder = StartHolder();
  auto second = StartWaiter();
  std::stop_source stop;
  auto third = StartWaiter({.cancel = stop.get_token()});
  stop.request_stop();
  simulation_.RunUntilIdle();
  EXPECT_EQ(third->code(), StatusCode::kCancelled);
  EXPECT_THAT(Message(*third), HasSubstr("cancelled, waiting for 2 others at most"));
}

TEST_F(GivingUpInMemoryTest, ABusyTrySaysWhoHoldsAndHowManyQueue) {
  auto holder = StartHolderNamed("ledger-7");
  auto second = StartWaiter();
  auto user = Start();
  Ask(*user, {.try_only = true});
  ASSERT_EQ(user->answers, 1);
  EXPECT_TRUE(IsBusy(user->result->status()));
  EXPECT_THAT(Message(*user), HasSubstr(absl::StrCat("busy: ", Process("ledger-7"))));
  EXPECT_THAT(Message(*user), HasSubstr("queued behind it: 1"));
  for (auto* other : {&holder, &second}) (*other)->client.reset();
  ExpectNothingLeft();
}

TEST_F(GivingUpInMemoryTest, AReaderThatAQueuedWriterMakesWaitIsToldTheReaderThatHolds) {
  auto reader = StartNamed("reader");
  auto writer = StartNamed("writer");
  Ask(*reader, {.mode = Mode::kShared});
  Ask(*writer, {.mode = Mode::kSharedWriter});
  auto user = Start();
  Ask(*user, {.mode = Mode::kShared, .try_only = true});
  EXPECT_TRUE(IsBusy(user->result->status()));
  EXPECT_THAT(Message(*user), HasSubstr(Process("reader")));
  EXPECT_THAT(Message(*user), HasSubstr("queued behind it: 1"));
  Release(*reader);
  EXPECT_TRUE(writer->holds());
}

// Two look, and find nobody; both join.
TEST_F(GivingUpInMemoryTest, ATryThatHasQueuedIsToldWhoWasFasterAndLeavesNothing) {
  auto one = StartNamed("one");
  auto two = StartNamed("two");
  Begin(*one, {.try_only = true});
  Begin(*two, {.try_only = true});
  simulation_.RunUntilIdle();
  ASSERT_EQ(one->answers + two->answers, 2);
  LockUser& winner = one->holds() ? *one : *two;
  LockUser& loser = one->holds() ? *two : *one;
  ASSERT_TRUE(winner.holds());
  EXPECT_TRUE(IsBusy(loser.result->status()));
  EXPECT_THAT(Message(loser), HasSubstr(Process(&winner == one.get() ? "one" : "two")));
  EXPECT_THAT(Message(loser), Not(HasSubstr("queued behind")));
  EXPECT_THAT(Queue(), ::testing::SizeIs(1));
}

// A try on a busy lock in which something goes wrong before step `at`; false if it was over by
// then.
class BusyTryTest : public GivingUpInMemoryTest {
 protected:
  using Fault = std::function<void(LockUser&)>;

  bool Play(int at, const Fault& fault, LockUser& user) {
    memory::Start(simulation_, user);
    Begin(user, {.try_only = true}, {absl::Milliseconds(100)});
    std::vector<Step> steps;
    for (int step = 0; step <= at; ++step) {
      steps.clear();
      simulation_.ListSteps(steps);
      if (user.answers > 0 || steps.empty()) return false;
      if (step < at) simulation_.Run(steps.front());
    }
    fault(user);
    return true;
  }
  // The messages of tries that meet the fault ever later.
  std::vector<std::string> AtEveryStep(const Fault& fault) {
    std::vector<std::string> messages;
    for (int at = 0;; ++at) {
      LockUser user;
      if (!Play(at, fault, user)) return messages;
      PassTime(absl::Milliseconds(100));
      EXPECT_EQ(user.answers, 1) << "step " << at;
      messages.push_back(user.result->status().ToString());
      user.host->set_network(Host::Network::kUp);
      user.client.reset();
      PassTime(absl::Minutes(1));
      EXPECT_THAT(Queue(), ::testing::SizeIs(1)) << "step " << at;
    }
  }
};

// Once it knows that the lock is busy it says so, with the holder's name or, at the deadline,
// without.
TEST_F(BusyTryTest, IsAnsweredInTimeAlsoWhenTheHoldersNameIsNot) {
  auto holder = StartHolderNamed("ledger-7");
  const auto messages =
      AtEveryStep([](LockUser& user) { user.host->set_network(Host::Network::kSilent); });
  EXPECT_THAT(messages.front(), HasSubstr("DEADLINE_EXCEEDED"));
  const std::string name = NodeOf(*holder).substr(NodeOf(*holder).rfind('/') + 1);
  EXPECT_THAT(messages, ::testing::Contains(absl::StrCat("ALREADY_EXISTS: acquire ", kPath,
                                                         ": busy: held by ", name)));
}

TEST_F(BusyTryTest, IsAnsweredWhenTheConnectionIsLost) {
  auto holder = StartHolderNamed("ledger-7");
  const auto messages =
      AtEveryStep([](LockUser& user) { user.host->set_network(Host::Network::kDown); });
  EXPECT_THAT(messages.front(), HasSubstr("UNAVAILABLE"));
  EXPECT_THAT(messages, ::testing::Contains(HasSubstr("ALREADY_EXISTS")));
}

TEST_F(BusyTryTest, IsAnsweredWhenTheHolderLeavesBeforeItsNameIsRead) {
  const auto messages = [this] {
    std::vector<std::string> all;
    for (int at = 0;; ++at) {
      auto holder = StartHolderNamed("ledger-7");
      LockUser user;
      if (!Play(
              at, [&](LockUser&) { holder->result.reset(); }, user))
        return all;
      simulation_.RunUntilIdle();
      EXPECT_EQ(user.answers, 1) << "step " << at;
      all.push_back(user.result->status().ToString());
      user.result.reset();
      simulation_.RunUntilIdle();
      EXPECT_THAT(Queue(), ::testing::IsEmpty());
    }
  }();
  EXPECT_THAT(messages, ::testing::Contains(HasSubstr("busy: another contender was in the way")));
}

TEST_F(BusyTryTest, KeepsNoClientFromClosing) {
  auto holder = StartHolderNamed("ledger-7");
  const auto messages = AtEveryStep([this](LockUser& user) {
    const auto closed = std::make_shared<base::OneShot<absl::Status>>();
    internal::ClientAccess::Core(*user.client)->Close(closed);
    simulation_.RunUntilIdle();
    EXPECT_EQ(closed->Take({}), absl::OkStatus());
    EXPECT_EQ(user.answers, 1);
  });
  EXPECT_THAT(messages.front(), HasSubstr("FAILED_PRECONDITION"));
  EXPECT_THAT(messages, ::testing::Contains(HasSubstr("ALREADY_EXISTS")));
}

TEST_F(GivingUpInMemoryTest, WithoutAConnectionItIsUnavailableAndSaysSo) {
  auto holder = StartHolder();
  auto waiter = StartWaiter({absl::Seconds(5)});
  PassTime(absl::Seconds(1));
  waiter->host->set_network(Host::Network::kDown);
  PassTime(absl::Seconds(4));
  ASSERT_EQ(waiter->answers, 1);
  EXPECT_EQ(waiter->code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(*waiter), HasSubstr(absl::StrCat(
                                    "not granted within 5s: no connection to the ensemble for 4s: ",
                                    internal::ClientAccess::Core(*waiter->client)->trouble())));
  waiter->host->set_network(Host::Network::kUp);
  holder->client.reset();
  ExpectNothingLeft();
}

TEST_F(GivingUpInMemoryTest, AConnectionThatIsBackMakesItATimeoutAgain) {
  auto holder = StartHolderNamed("ledger-7");
  auto waiter = StartWaiter({absl::Seconds(5)});
  waiter->host->set_network(Host::Network::kDown);
  PassTime(absl::Seconds(2));
  waiter->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(3));
  ASSERT_EQ(waiter->answers, 1);
  EXPECT_EQ(waiter->code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(*waiter), HasSubstr(Process("ledger-7")));
}

TEST_F(GivingUpInMemoryTest, AQuestionIsUnavailableForTheSameReason) {
  auto user = Start();
  const auto unanswered = [&user] {
    const auto& core = *internal::ClientAccess::Core(*user->client);
    return queue::call::NotAnswered(core.reach()->CutOff(core.Now()), "list /q", absl::Seconds(5),
                                    /*cancelled=*/false);
  };
  EXPECT_EQ(unanswered().code(), StatusCode::kDeadlineExceeded);
  user->host->set_network(Host::Network::kDown);
  PassTime(absl::Seconds(1));
  EXPECT_EQ(unanswered().code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(unanswered().message()),
              HasSubstr("list /q: not answered within 5s: no connection to the ensemble for 1s: "));
}

TEST_F(GivingUpInMemoryTest, AnOutageBetweenTheLookAndTheDeadlineIsNotTakenForABusyLock) {
  auto holder = StartHolder();
  auto waiter = StartWaiter({absl::Seconds(5)});
  PassTime(absl::Milliseconds(4500));
  waiter->host->set_network(Host::Network::kDown);
  PassTime(absl::Milliseconds(500));
  ASSERT_EQ(waiter->answers, 1);
  EXPECT_EQ(waiter->code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace zkrecipes::testing::memory

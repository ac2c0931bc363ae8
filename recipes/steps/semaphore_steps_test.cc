// SPDX-License-Identifier: Apache-2.0
//
// Two holders of a semaphore, the first waiter and one behind it, again and again: each time
// something goes wrong one step later, and all that in several orders of what happens at the same
// time.

#include <memory>
#include <optional>
#include <stop_token>

#include "gmock/gmock.h"

#include "recipes/every_step_fixture.h"
#include "recipes/semaphore_fixture.h"

namespace zkrecipes::testing::memory {
namespace {

class SemaphoreAtEveryStep : public EveryStepTest {
 protected:
  // From the waiters' acquires to the last release, with the fault at every step. `patient`: all
  // are granted all the same.
  void Play(bool patient, const Fault& fault) {
    ForEveryStep([&] {
      fault_ = fault;
      stop_.emplace();
      expired_ = false;
      for (auto* user : {&one_, &two_, &first_, &last_}) {
        *user = std::make_unique<PermitUser>();
        memory::Start(simulation_, **user);
      }
      const int at = std::exchange(at_, -1);  // not yet
      one_->Acquire(2);
      two_->Acquire(2);
      Settle();
      EXPECT_TRUE(one_->believes() && two_->believes());
      at_ = at;
      steps_ = 0;
      first_->Acquire(2, {.cancel = stop_->get_token()});
      last_->Acquire(2);
      Watch();
      for (auto* releasing : {&two_, &one_}) {
        (*releasing)->result.reset();
        Watch();
      }
      Mend();
      EXPECT_TRUE(last_->believes());
      EXPECT_TRUE(first_->believes() || !patient);
      EXPECT_EQ(first_->answers, 1);
      for (auto* user : {&one_, &two_, &first_, &last_}) (*user)->result.reset();
      Watch();
      Mend();
      EXPECT_TRUE(Queue().empty());
      for (auto* user : {&one_, &two_, &first_, &last_}) user->reset();
      PassTime(absl::Seconds(1));
      EXPECT_EQ(model().watches(), 0u);
    });
  }
  void Watch() {
    Settle();
    int believers = 0;
    for (auto* user : {&one_, &two_, &first_, &last_}) believers += (*user)->believes() ? 1 : 0;
    // The ensemble expires no session that it hears of, but here it does, also a holder's.
    if (!expired_) {
      EXPECT_LE(believers, 2);
    }
  }
  // For less than the time after which a waiter checks its place: a lost wake-up shows.
  void Mend() {
    for (auto* user : {&one_, &two_, &first_, &last_}) {
      (*user)->host->set_network(Host::Network::kUp);
      (*user)->host->set_only_server(std::nullopt);
    }
    PassTime(absl::Seconds(3));
    Watch();
  }
  void ChangeLeader(size_t kept) {
    model().ElectLeader((model().leader() + 1) % 3, std::min(kept, model().proposals()),
                        simulation_.now());
  }

  // The holders, the first waiter, and the one behind it.
  std::unique_ptr<PermitUser> one_, two_, first_, last_;
  std::optional<std::stop_source> stop_;  // of the first waiter
  bool expired_ = false;
};

TEST_F(SemaphoreAtEveryStep, AConnectionLostWithWhatWasSentIsOvercome) {
  Play(true, [this] { LoseConnectionAndRequests(simulation_, *first_->host); });
}

TEST_F(SemaphoreAtEveryStep, ALostConnectionOfTheOneBehindIsOvercome) {
  Play(true, [this] { last_->host->BreakConnections(); });
}

TEST_F(SemaphoreAtEveryStep, AReconnectOfBothToOtherServersIsOvercome) {
  Play(true, [this] {
    for (auto* waiter : {&first_, &last_}) {
      (*waiter)->host->set_only_server(((*waiter)->host->ConnectedTo().value_or(0) + 1) % 3);
      (*waiter)->host->BreakConnections();
    }
  });
}

// It queues again, at the tail, unless it held already; the one behind it is the first waiter.
TEST_F(SemaphoreAtEveryStep, AnExpiryOfTheFirstWaiterMakesTheNextOneTheFirst) {
  Play(false, [this] {
    expired_ = true;
    model().Expire(first_->client->session_id(), simulation_.now());
  });
}

TEST_F(SemaphoreAtEveryStep, AChangeOfLeaderThatLosesProposalsIsOvercome) {
  Play(true, [this] { ChangeLeader(0); });
}

TEST_F(SemaphoreAtEveryStep, EarlierReleasesWakeTheWaiters) {
  Play(true, [this] {
    one_->result.reset();
    two_->result.reset();
  });
}

TEST_F(SemaphoreAtEveryStep, ACancellationOfTheFirstWaiterLeavesNothing) {
  Play(false, [this] { stop_->request_stop(); });
}

TEST_F(SemaphoreAtEveryStep, TheClientsDestructionOfTheFirstWaiterLeavesNothing) {
  Play(false, [this] { first_->client.reset(); });
}

}  // namespace
}  // namespace zkrecipes::testing::memory

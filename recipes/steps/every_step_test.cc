// SPDX-License-Identifier: Apache-2.0
//
// One wait for the lock, from the acquire to the release, again and again: each time something goes
// wrong one step later, and all that in many orders of what happens at the same time.

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <stop_token>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

#include "lib/session/client/client_core.h"
#include "recipes/lock_fixture.h"
#include "testing/rounds.h"

namespace zkrecipes::testing::memory {
namespace {

// A holder, and one who waits for it. Every method runs no step but those of Settle and PassTime.
class Scene {
 public:
  using Fault = std::function<void(Scene&)>;

  // `fault` strikes before step `at`. `order`: 0 is the simulation's own.
  Scene(unsigned order, int at, Fault fault)
      : at_(at), fault_(std::move(fault)), random_order_(order > 0), random_(order) {}

  // From an acquire behind the holder to a release. True if there was a step `at`.
  bool Play() {
    Start(simulation_, holder);
    Start(simulation_, waiter);
    holder.Acquire();
    simulation_.RunUntilIdle();
    EXPECT_TRUE(holder.holds());
    watching_ = true;
    waiter.Acquire({.cancel = stop.get_token()});
    Settle();
    holder.result.reset();
    Settle();
    Recover();
    const bool struck = steps_ > at_;
    granted = waiter.result.has_value() && waiter.result->ok();
    EXPECT_EQ(waiter.answers, 1);
    waiter.result.reset();
    Settle();
    Recover();
    ExpectNothingLeft();
    return struck;
  }

  LockUser holder;
  LockUser waiter;
  std::stop_source stop;  // of the waiter
  bool granted = false;

  ModelEnsemble& model() { return simulation_.ensemble(); }
  base::BootTime now() const { return simulation_.now(); }
  // From now until the next Recover no quorum agrees on anything.
  void SlowDown() { slow_ = true; }
  void ExpireWaiter() { model().Expire(waiter.client->session_id(), now()); }
  void CloseWaiter() {
    internal::ClientAccess::Core(*waiter.client)
        ->Close(std::make_shared<base::OneShot<absl::Status>>());
  }
  void LoseWhatTheWaiterSent() { LoseConnectionAndRequests(simulation_, *waiter.host); }
  // The waiter's connection is lost, and only another server can be reached.
  void MoveWaiter() {
    waiter.host->set_only_server((waiter.host->ConnectedTo().value_or(0) + 1) % 3);
    waiter.host->BreakConnections();
  }
  void ChangeLeader(size_t kept) {
    model().ElectLeader((model().leader() + 1) % 3, std::min(kept, model().proposals()), now());
  }

 private:
  // What can happen now; then, where time may go on, that it does.
  std::vector<Step> Possible(bool with_time) {
    std::vector<Step> steps;
    simulation_.ListSteps(steps);
    std::erase_if(steps, [this](const Step& step) {
      return slow_ && (step.kind == Step::Kind::kCommit || step.kind == Step::Kind::kApply);
    });
    const bool time = !steps.empty() && steps.back().kind == Step::Kind::kAdvance;
    if (time && (steps.size() > 1 || !with_time)) steps.pop_back();
    return steps;
  }

  void RunOne(const std::vector<Step>& steps) {
    if (watching_ && steps_++ == at_) {
      fault_(*this);
    } else {
      simulation_.Run(steps[random_order_ ? random_() % steps.size() : 0]);
    }
    EXPECT_FALSE(holder.holds() && waiter.holds());
  }

  // All that can happen without time going on.
  void Settle() {
    for (auto steps = Possible(false); !steps.empty(); steps = Possible(false)) RunOne(steps);
  }

  // Until everything is as it should be again.
  void Recover() {
    waiter.host->set_network(Host::Network::kUp);
    const base::BootTime until = now() + absl::Seconds(1);
    while (slow_ && now() < until) RunOne(Possible(true));
    slow_ = false;
    simulation_.RunUntil(now() + absl::Seconds(3));
  }

  void ExpectNothingLeft() {
    EXPECT_THAT(model().committed().Children(kPath), ::testing::IsEmpty());
    EXPECT_EQ(model().watches(), 0u);
    LockUser next;
    Start(simulation_, next);
    next.Acquire();
    simulation_.RunUntilIdle();
    EXPECT_TRUE(next.holds());
    next.result.reset();
    simulation_.RunUntilIdle();
  }

  Simulation simulation_;
  const int at_;
  const Fault fault_;
  const bool random_order_;
  std::mt19937 random_;
  bool watching_ = false;
  bool slow_ = false;
  int steps_ = 0;
};

// Plays the scene with the fault at its first step, its second, and so on, until it is over before
// the fault strikes. With `patient`, the waiter gets the lock all the same.
void AtEveryStepOf(unsigned order, bool patient, const Scene::Fault& fault) {
  bool struck = true;
  int at = 0;
  for (; struck && !::testing::Test::HasFailure(); ++at) {
    Scene scene(order, at, fault);
    struck = scene.Play();
    EXPECT_TRUE(scene.granted || !patient);
    if (::testing::Test::HasFailure()) ADD_FAILURE() << "order " << order << ", step " << at;
  }
  EXPECT_GT(at, 20) << "a wait has more steps than that";
}

void AtEveryStep(bool patient, const Scene::Fault& fault) {
  for (unsigned order = 0; order < Rounds(50) && !::testing::Test::HasFailure(); ++order) {
    AtEveryStepOf(order, patient, fault);
  }
}

TEST(AtEveryStep, ALostConnectionIsOvercome) {
  AtEveryStep(true, [](Scene& s) { s.waiter.host->BreakConnections(); });
}

TEST(AtEveryStep, AConnectionLostWithWhatWasSentIsOvercome) {
  AtEveryStep(true, [](Scene& s) { s.LoseWhatTheWaiterSent(); });
}

TEST(AtEveryStep, AReconnectToAnotherServerIsOvercome) {
  AtEveryStep(true, [](Scene& s) { s.MoveWaiter(); });
}

// Its create can appear after a listing that does not show it.
TEST(AtEveryStep, AReconnectBeforeItsWritesAreCommittedIsOvercome) {
  AtEveryStep(true, [](Scene& s) {
    s.SlowDown();
    s.MoveWaiter();
  });
}

TEST(AtEveryStep, AnExpiryOfAWaiterIsOvercome) {
  AtEveryStep(true, [](Scene& s) { s.ExpireWaiter(); });
}

TEST(AtEveryStep, AnExpiryDuringAReconnectIsOvercome) {
  AtEveryStep(true, [](Scene& s) {
    s.waiter.host->BreakConnections();
    s.ExpireWaiter();
  });
}

TEST(AtEveryStep, AChangeOfLeaderIsOvercome) {
  AtEveryStep(true, [](Scene& s) { s.ChangeLeader(s.model().proposals()); });
}

TEST(AtEveryStep, AChangeOfLeaderThatLosesProposalsIsOvercome) {
  AtEveryStep(true, [](Scene& s) { s.ChangeLeader(0); });
}

TEST(AtEveryStep, ALostConnectionOfTheHolderIsOvercome) {
  AtEveryStep(true, [](Scene& s) { s.holder.host->BreakConnections(); });
}

TEST(AtEveryStep, AnEarlierReleaseWakesTheWaiter) {
  AtEveryStep(true, [](Scene& s) { s.holder.result.reset(); });
}

TEST(AtEveryStep, ACancellationLeavesNothing) {
  AtEveryStep(false, [](Scene& s) { s.stop.request_stop(); });
}

TEST(AtEveryStep, ACancellationWithoutAConnectionLeavesNothing) {
  AtEveryStep(false, [](Scene& s) {
    s.waiter.host->set_network(Host::Network::kDown);
    s.stop.request_stop();
  });
}

TEST(AtEveryStep, TheClientsDestructionLeavesNothing) {
  AtEveryStep(false, [](Scene& s) { s.waiter.client.reset(); });
}

TEST(AtEveryStep, ACloseLeavesNothing) {
  AtEveryStep(false, [](Scene& s) { s.CloseWaiter(); });
}

TEST(AtEveryStep, ACloseDuringAReconnectLeavesNothing) {
  AtEveryStep(false, [](Scene& s) {
    s.waiter.host->BreakConnections();
    s.CloseWaiter();
  });
}

TEST(AtEveryStep, ACloseWhileTheSessionExpiresLeavesNothing) {
  AtEveryStep(false, [](Scene& s) {
    s.ExpireWaiter();
    s.CloseWaiter();
  });
}

}  // namespace
}  // namespace zkrecipes::testing::memory

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_EVERY_STEP_FIXTURE_H_
#define ZKRECIPES_RECIPES_EVERY_STEP_FIXTURE_H_

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "recipes/lock_fixture.h"

namespace zkrecipes::testing::memory {

// Plays a scene again and again: each time a fault strikes one step later, and all that in many
// orders of what happens at the same time.
class EveryStepTest : public LockInMemoryTest {
 protected:
  using Fault = std::function<void()>;

  // Everything that needs no time; `fault_` strikes before step `at_`, counted over all calls.
  void Settle() {
    for (;;) {
      std::vector<Step> steps;
      simulation_.ListSteps(steps);
      if (!steps.empty() && steps.back().kind == Step::Kind::kAdvance) steps.pop_back();
      if (steps.empty()) return;
      if (steps_++ == at_) {
        fault_();
      } else {
        simulation_.Run(steps[order_ > 0 ? random_() % steps.size() : 0]);
      }
    }
  }
  // `play` returns once per step and order, as long as there is such a step.
  void ForEveryStep(const std::function<void()>& play) {
    for (order_ = 0; order_ < 10; ++order_) {
      for (at_ = 0;; ++at_) {
        steps_ = 0;
        random_.seed(order_);
        play();
        if (HasFailure()) FAIL() << "order " << order_ << ", step " << at_;
        if (steps_ <= at_) break;
      }
    }
  }
  // Runs the first step that `may_happen`, again and again while there is one.
  void RunWhere(const std::function<bool(const Step&)>& may_happen) {
    for (;;) {
      std::vector<Step> steps;
      simulation_.ListSteps(steps);
      const auto next = std::find_if(steps.begin(), steps.end(), may_happen);
      if (next == steps.end()) return;
      simulation_.Run(*next);
    }
  }
  // Runs everything but commits until the process is connected again and has sent its first
  // requests; for a second at most.
  void ReconnectWithoutCommits(Host& host) {
    const base::BootTime patience = simulation_.now() + absl::Seconds(1);
    RunWhere([&](const Step& step) {
      if (step.kind == Step::Kind::kCommit) return false;
      if (step.kind != Step::Kind::kAdvance) return true;
      return !host.ConnectedTo().has_value() && simulation_.NextDeadline() <= patience;
    });
  }

  Fault fault_;
  unsigned order_ = 0;
  int at_ = 0;
  int steps_ = 0;
  std::mt19937 random_;
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_RECIPES_EVERY_STEP_FIXTURE_H_

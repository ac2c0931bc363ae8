// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_EVERY_STEP_FIXTURE_H_
#define ZKRECIPES_RECIPES_EVERY_STEP_FIXTURE_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "recipes/lock_fixture.h"
#include "zkrecipes/guarded_write.h"

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

inline constexpr char kRegister[] = "/register";

// Guarded writes to a register, on the ensemble in memory.
class GuardedWriteTest : public EveryStepTest {
 protected:
  using Result = std::shared_ptr<std::optional<absl::Status>>;

  GuardedWriteTest() {
    EXPECT_TRUE(model().OperatorCreates(kRegister, {}, simulation_.now()));
    simulation_.RunUntilIdle();
  }

  // Does not run anything.
  static Result Write(const Lease& lease, std::vector<WriteOp> ops, WaitOptions wait = {}) {
    auto result = std::make_shared<std::optional<absl::Status>>();
    GuardedWriteAsync(lease, std::move(ops), std::move(wait),
                      [result](absl::Status status) { *result = std::move(status); });
    return result;
  }
  static Result Set(const Lease& lease, const std::string& data, WaitOptions wait = {}) {
    return Write(lease, {WriteOp::Set(kRegister, data)}, std::move(wait));
  }
  // What comes of it without a fault.
  absl::Status Do(const Lease& lease, std::vector<WriteOp> ops) {
    const Result result = Write(lease, std::move(ops));
    simulation_.RunUntilIdle();
    return result->value_or(absl::UnknownError("not answered"));
  }
  void AwaitAnswer(const Result& result) {
    Settle();
    for (int i = 0; i < 60 && !result->has_value(); ++i) {
      PassTime(absl::Seconds(1));
      Settle();
    }
    ASSERT_TRUE(result->has_value());
  }

  const Node* Find(const std::string& path) { return model().committed().Find(path); }
  std::string DataOf(const std::string& path) {
    const Node* node = Find(path);
    return node == nullptr ? "(none)" : node->data;
  }
  int32_t Writes() { return Find(kRegister)->version; }
  // What the caller was told of one write is what has become of it.
  void ExpectTruth(const absl::Status& told, int32_t writes) {
    const int32_t written = Writes() - writes;
    if (told.ok()) {
      EXPECT_EQ(written, 1);
    } else if (MayBeWritten(told)) {
      EXPECT_LE(written, 1);
      EXPECT_THAT(std::string(told.message()), ::testing::HasSubstr("not known whether"));
    } else {
      EXPECT_EQ(written, 0) << told;
    }
  }
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_RECIPES_EVERY_STEP_FIXTURE_H_

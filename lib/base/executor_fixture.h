// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_EXECUTOR_FIXTURE_H_
#define ZKRECIPES_LIB_BASE_EXECUTOR_FIXTURE_H_

#include <cstddef>
#include <deque>
#include <utility>

#include "absl/functional/any_invocable.h"

#include "zkrecipes/executor.h"

namespace zkrecipes::base {

// For tests with one thread: runs its tasks when it is told to, in order.
class StepExecutor : public Executor {
 public:
  void Execute(absl::AnyInvocable<void() &&> task) override {
    ++given_;
    tasks_.push_back(std::move(task));
  }
  int given() const { return given_; }  // tasks so far
  size_t waiting() const { return tasks_.size(); }
  // REQUIRES: one is waiting.
  void RunNext() {
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    std::move(task)();
  }
  // How many tasks there were.
  int RunAll() {
    int ran = 0;
    for (; !tasks_.empty(); ++ran) RunNext();
    return ran;
  }
  // What that adds waits for the next call.
  void DropAll() { std::exchange(tasks_, {}).clear(); }

 private:
  int given_ = 0;
  std::deque<absl::AnyInvocable<void() &&>> tasks_;
};

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_EXECUTOR_FIXTURE_H_

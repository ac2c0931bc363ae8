// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_MEMORY_COUNTING_EXECUTOR_H_
#define ZKRECIPES_TESTING_MEMORY_COUNTING_EXECUTOR_H_

#include <chrono>
#include <memory>
#include <utility>

#include "lib/base/executor.h"
#include "lib/base/mutex.h"
#include "zkrecipes/executor.h"

namespace zkrecipes::testing::memory {

// The library's own executor, of which one can wait until it has nothing to do. Thread-safe.
class CountingExecutor : public Executor {
 public:
  void Execute(absl::AnyInvocable<void() &&> task) override {
    {
      base::MutexLock lock(counts_->mutex);
      ++counts_->running;
    }
    executor_->Execute([counts = counts_, task = std::move(task)]() mutable {
      inside_ = true;
      std::move(task)();
      task = nullptr;
      inside_ = false;
      base::MutexLock lock(counts->mutex);
      --counts->running;
      counts->idle.NotifyAll();
    });
  }

  // False if there is still something running after `at_most`, or if this is one of its tasks.
  bool WaitUntilIdle(std::chrono::nanoseconds at_most) {
    if (inside_) return false;
    const auto until = std::chrono::steady_clock::now() + at_most;
    base::MutexLock lock(counts_->mutex);
    while (counts_->running > 0) {
      const auto left = until - std::chrono::steady_clock::now();
      if (left <= std::chrono::nanoseconds::zero()) return false;
      counts_->idle.WaitFor(counts_->mutex, left);
    }
    return true;
  }

  bool idle() {
    base::MutexLock lock(counts_->mutex);
    return counts_->running == 0;
  }

 private:
  struct Counts {
    base::Mutex mutex;
    base::CondVar idle;
    int running ABSL_GUARDED_BY(mutex) = 0;
  };

  static thread_local inline bool inside_ = false;
  const std::shared_ptr<Executor> executor_ = base::NewGrowingExecutor();
  const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_TESTING_MEMORY_COUNTING_EXECUTOR_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_MEMORY_DRIVER_H_
#define ZKRECIPES_TESTING_MEMORY_DRIVER_H_

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "lib/base/executor.h"
#include "lib/base/mutex.h"
#include "testing/memory/simulation.h"
#include "testing/memory/threads.h"
#include "zkrecipes/executor.h"

namespace zkrecipes::testing::memory {

// Lets a simulation run: on a thread of its own whenever there is something to do, or, without one,
// only inside Do.
class Driver {
 public:
  using Work = std::function<void(Simulation&)>;

  Driver(const ModelOptions& options, uint64_t seed, bool own_thread);
  ~Driver();  // what is waited for with Do must have returned

  // Runs until idle, then `work`, then until idle; returns after that. From inside the simulation
  // (a callback) only `work` is run, at once.
  void Do(const Work& work);

 private:
  // Outlives the driver in the hosts of clients that outlive it.
  struct Bell {
    base::Mutex mutex;
    base::CondVar rung;
    bool ringing ABSL_GUARDED_BY(mutex) = false;
    void Ring();
  };

  void RunThread();
  void Perform(const Work& work);

  const std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
  Simulation simulation_;
  std::atomic<std::thread::id> inside_{};  // the thread that runs the simulation now

  std::deque<std::function<void()>> orders_ ABSL_GUARDED_BY(bell_->mutex);
  bool stop_ ABSL_GUARDED_BY(bell_->mutex) = false;
  std::thread thread_;
};

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
    base::MutexLock lock(counts_->mutex);
    for (RunningTime left(at_most); counts_->running > 0;) {
      if (left.over()) return false;
      left.WaitFor(counts_->idle, counts_->mutex);
    }
    return true;
  }

  bool idle() { return WaitUntilIdle(std::chrono::nanoseconds::zero()); }

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

#endif  // ZKRECIPES_TESTING_MEMORY_DRIVER_H_

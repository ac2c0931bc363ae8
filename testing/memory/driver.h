// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_MEMORY_DRIVER_H_
#define ZKRECIPES_TESTING_MEMORY_DRIVER_H_

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "lib/base/mutex.h"
#include "testing/memory/simulation.h"

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
  struct Order {
    const Work* work = nullptr;
    bool done = false;
  };

  void RunThread();
  void Perform(const Work& work);

  const std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
  Simulation simulation_;
  std::atomic<std::thread::id> inside_{};  // the thread that runs the simulation now

  base::CondVar done_;
  std::deque<Order*> orders_ ABSL_GUARDED_BY(bell_->mutex);
  bool stop_ ABSL_GUARDED_BY(bell_->mutex) = false;
  std::thread thread_;
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_TESTING_MEMORY_DRIVER_H_

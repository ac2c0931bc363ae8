// SPDX-License-Identifier: Apache-2.0

#include "testing/memory/driver.h"

#include <utility>

#include "lib/base/one_shot.h"

namespace zkrecipes::testing::memory {

void Driver::Bell::Ring() {
  base::MutexLock lock(mutex);
  ringing = true;
  rung.NotifyAll();
}

Driver::Driver(const ModelOptions& options, uint64_t seed, bool own_thread)
    : simulation_(options, seed, [bell = bell_] { bell->Ring(); }) {
  if (own_thread) thread_ = std::thread([this] { RunThread(); });
}

Driver::~Driver() {
  if (!thread_.joinable()) return;
  {
    base::MutexLock lock(bell_->mutex);
    stop_ = true;
    bell_->rung.NotifyAll();
  }
  thread_.join();
}

void Driver::Perform(const Work& work) {
  inside_ = std::this_thread::get_id();
  simulation_.RunUntilIdle();
  work(simulation_);
  simulation_.RunUntilIdle();
  inside_ = std::thread::id();
}

void Driver::Do(const Work& work) {
  if (inside_.load() == std::this_thread::get_id()) return work(simulation_);
  if (!thread_.joinable()) return Perform(work);
  const auto done = std::make_shared<base::OneShot<bool>>();
  {
    base::MutexLock lock(bell_->mutex);
    orders_.emplace_back([this, &work, done] {
      Perform(work);
      done->Set(true);
    });
    bell_->rung.NotifyAll();
  }
  done->Take(base::BootTime::InfiniteFuture());
}

void Driver::RunThread() {
  while (true) {
    std::function<void()> order = [this] { Perform([](Simulation&) {}); };
    {
      base::MutexLock lock(bell_->mutex);
      while (!stop_ && !bell_->ringing && orders_.empty()) bell_->rung.Wait(bell_->mutex);
      if (stop_) return;
      bell_->ringing = false;
      if (!orders_.empty()) {
        order = std::move(orders_.front());
        orders_.pop_front();
      }
    }
    order();
  }
}

}  // namespace zkrecipes::testing::memory

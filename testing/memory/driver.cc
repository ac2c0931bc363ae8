// SPDX-License-Identifier: Apache-2.0

#include "testing/memory/driver.h"

#include <utility>

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
  Order order{&work};
  base::MutexLock lock(bell_->mutex);
  orders_.push_back(&order);
  bell_->rung.NotifyAll();
  while (!order.done) done_.Wait(bell_->mutex);
}

void Driver::RunThread() {
  while (true) {
    Order* order = nullptr;
    {
      base::MutexLock lock(bell_->mutex);
      while (!stop_ && !bell_->ringing && orders_.empty()) bell_->rung.Wait(bell_->mutex);
      if (stop_) return;
      bell_->ringing = false;
      if (!orders_.empty()) {
        order = orders_.front();
        orders_.pop_front();
      }
    }
    Perform(order != nullptr ? *order->work : [](Simulation&) {});
    if (order == nullptr) continue;
    base::MutexLock lock(bell_->mutex);
    order->done = true;
    done_.NotifyAll();
  }
}

}  // namespace zkrecipes::testing::memory

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_HANDLE_DRIVER_FIXTURE_H_
#define ZKRECIPES_LIB_ZK_HANDLE_DRIVER_FIXTURE_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <utility>

#include "absl/time/time.h"

#include "lib/base/die.h"
#include "lib/zk/pollable.h"
#include "lib/zk/reactor.h"

namespace zkrecipes::zk {

// Drives one handle of the C client as the loop does, but step by step on the test's thread, and on a
// clock that jumps over pauses.
class HandleDriver final : public Reactor, public PollSet {
 public:
  // As poll() for one socket: what is ready of `events`, or 0.
  using Poll = std::function<short(int fd, short events)>;
  explicit HandleDriver(Poll poll, uint64_t seed = 1) : poll_(std::move(poll)), random_(seed) {}

  // One round; false if nothing was ready, so that the clock jumped.
  bool Round() {
    if (pollable_ != nullptr) pollable_->Drain();
    Pollable::Interest interest;
    if (pollable_ != nullptr) interest = pollable_->Prepare();
    const short ready = interest.fd < 0 ? short{0} : poll_(interest.fd, interest.events);
    const bool busy = ready != 0 || !posted_.empty() || interest.until <= now_;
    if (!busy) now_ = std::min(interest.until, now_ + absl::Milliseconds(50));
    RunPosted();
    if (ready != 0 && pollable_ != nullptr) pollable_->OnReady(ready);
    return busy;
  }
  void RunPosted() {
    for (auto tasks = std::exchange(posted_, {}); !tasks.empty(); tasks.pop_front()) {
      std::move(tasks.front())();
    }
  }

  void Post(Task task) override { posted_.push_back(std::move(task)); }
  base::BootTime Now() override { return now_; }
  uint64_t Random() override { return random_(); }
  TimerId CallAt(base::BootTime, Task) override { base::Die("a handle sets no timers"); }
  void Cancel(TimerId) override {}
  void Add(Pollable* pollable) override { pollable_ = pollable; }
  void Remove(Pollable*) override { pollable_ = nullptr; }

 private:
  const Poll poll_;
  std::mt19937_64 random_;
  std::deque<Task> posted_;
  Pollable* pollable_ = nullptr;
  base::BootTime now_ = base::BootNow();
};

}  // namespace zkrecipes::zk

#endif  // ZKRECIPES_LIB_ZK_HANDLE_DRIVER_FIXTURE_H_

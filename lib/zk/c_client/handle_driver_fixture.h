// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_C_CLIENT_HANDLE_DRIVER_FIXTURE_H_
#define ZKRECIPES_LIB_ZK_C_CLIENT_HANDLE_DRIVER_FIXTURE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <utility>

#include "absl/time/time.h"

#include "lib/base/process.h"
#include "lib/zk/c_client/c_client.h"
#include "lib/zk/seam/handle.h"
#include "lib/zk/seam/reactor.h"

namespace zkrecipes::zk::c_client {

// Drives one handle of the C client as the loop does, but step by step on the test's thread, and on
// a clock that jumps over pauses.
class HandleDriver final : public Reactor, public HandleFactory, public PollSet {
 public:
  // As poll() for one socket: what is ready of `events`, or 0.
  using Poll = std::function<short(int fd, short events)>;
  explicit HandleDriver(Poll poll, uint64_t seed = 1) : poll_(std::move(poll)), random_(seed) {}

  // One round; false if nothing was ready, so that the clock jumped.
  bool Round();
  void RunPosted();

  absl::StatusOr<std::unique_ptr<Handle>> Open(const HandleOptions& options,
                                               HandleListener* listener) override;
  void Post(Task task) override { posted_.push_back(std::move(task)); }
  base::BootTime Now() override { return now_; }
  uint64_t Random() override { return random_(); }
  TimerId CallAt(base::BootTime, Task) override { base::Die("a handle sets no timers"); }
  void Cancel(TimerId) override {}
  void Add(Pollable* pollable) override { pollable_ = pollable; }
  void Remove(Pollable*) override {
    pollable_ = nullptr;
    watched_ = -1;
  }
  void Closes(int fd) override {
    if (fd == watched_) watched_ = -1;
  }

 private:
  void Watch(const Pollable::Interest& next, bool touched);

  const Poll poll_;
  std::mt19937_64 random_;
  std::deque<Task> posted_;
  Pollable* pollable_ = nullptr;
  int watched_ = -1;  // as in an epoll set: -1 once it was told that this is closed
  uint64_t file_ = 0;
  Pollable::Interest interest_;
  base::BootTime now_ = base::BootNow();
};

}  // namespace zkrecipes::zk::c_client

#endif  // ZKRECIPES_LIB_ZK_C_CLIENT_HANDLE_DRIVER_FIXTURE_H_

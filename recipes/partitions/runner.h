// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_PARTITIONS_RUNNER_H_
#define ZKRECIPES_RECIPES_PARTITIONS_RUNNER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"

#include "lib/base/mutex.h"
#include "lib/queue/acquire/listeners.h"
#include "lib/queue/acquire/work_loop.h"
#include "lib/session/client/client_core.h"
#include "lib/session/subscriber.h"
#include "recipes/partitions/core.h"
#include "recipes/partitions/locks.h"
#include "recipes/partitions/place.h"
#include "recipes/partitions/state.h"

namespace zkrecipes::internal {

// The latest report that has not been told yet, so that a slow receiver is told few. Thread-safe.
class LatestReport {
 public:
  // True: it is to be told. False: the one that is on its way is this one now.
  bool Put(const PartitionsReport& report) {
    base::MutexLock lock(mutex_);
    const bool first = !report_.has_value();
    report_ = report;
    return first;
  }
  PartitionsReport Take() {
    base::MutexLock lock(mutex_);
    return *std::exchange(report_, std::nullopt);
  }

 private:
  base::Mutex mutex_;
  std::optional<PartitionsReport> report_ ABSL_GUARDED_BY(mutex_);
};

// One run of a member: its place among the others decides which locks it wants. All of it happens
// in tasks of the client's core, one after another. Keeps itself, and the client, until nothing of
// it is under way.
class PartitionRunner : public std::enable_shared_from_this<PartitionRunner> {
 public:
  static std::shared_ptr<PartitionRunner> Begin(std::shared_ptr<const PartitionsCore> of,
                                                PartitionEvents events);

  // ---- for its owner: thread-safe; they do not block, but for what says so
  void Drain();
  // Behind Drain or End: waits for the node in the group to go. Blocks. OK if there is none.
  absl::Status LeaveGroup(const WaitOptions& wait);
  void End(absl::Status why);  // all work; OK: it was asked to
  // `over` runs once nothing of it is left, or it is not known whether: on any thread.
  void WhenOver(absl::AnyInvocable<void(absl::Status) &&> over);
  absl::Status status() const;
  void Return(std::shared_ptr<PartitionState> state);
  // No receiver runs any more. Blocks while another thread runs one.
  void Mute();

  // ---- for its parts
  const PartitionsCore& of() const { return *of_; }
  ClientCore& core() const { return *core_; }
  // As a task of the core's. Once the client is closed, its tasks go on without a session, on any
  // thread.
  template <typename Task>
  void Post(Task task);
  template <typename Task>
  void After(absl::Duration pause, Task task);

  // ... in such tasks only
  session::Session* session() const { return session_; }  // null: the client is closed
  PartitionPlace& place() { return place_; }
  PartitionLocks& locks() { return locks_; }
  queue::acquire::TurnPauses pauses() const;
  uint64_t random() const { return core_->reactor()->Random(); }
  void TellGained(std::shared_ptr<PartitionState> state);
  void Fail(absl::Status why);

 private:
  PartitionRunner(std::shared_ptr<const PartitionsCore> of, PartitionEvents events);
  void Report();
  void TellListeners(const PartitionsReport& now);
  void CheckOver();

  const std::shared_ptr<const PartitionsCore> of_;
  const std::shared_ptr<ClientCore> core_;
  const PartitionEvents events_;
  const std::shared_ptr<session::Subscriber<absl::AnyInvocable<void()>>> subscriber_;
  const std::shared_ptr<LatestReport> latest_ = std::make_shared<LatestReport>();
  std::atomic<bool> muted_ = false;

  // In tasks of the core's only.
  session::Session* session_ = nullptr;
  std::shared_ptr<PartitionRunner> self_;  // until it is over
  PartitionPlace place_;
  PartitionLocks locks_;
  const queue::acquire::Listeners listeners_;
  PartitionsReport told_;  // the last

  mutable base::Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> outcome_ ABSL_GUARDED_BY(mutex_);  // once it is over
  std::vector<absl::AnyInvocable<void(absl::Status) &&>> waiters_ ABSL_GUARDED_BY(mutex_);
};

template <typename Task>
void PartitionRunner::Post(Task task) {
  core_->Post(
      [self = shared_from_this(), task = std::move(task)](session::Session* session) mutable {
        self->session_ = session;
        if (session == nullptr) self->Fail(absl::FailedPreconditionError("the client is closed"));
        task(*self);
        self->Report();
        self->CheckOver();
      });
}

template <typename Task>
void PartitionRunner::After(absl::Duration pause, Task task) {
  if (session_ == nullptr) return;
  zk::Reactor& reactor = *core_->reactor();
  reactor.CallAt(reactor.Now() + pause,
                 [weak = weak_from_this(), task = std::move(task)]() mutable {
                   if (const auto self = weak.lock()) self->Post(std::move(task));
                 });
}

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_RECIPES_PARTITIONS_RUNNER_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_MEMORY_HOST_H_
#define ZKRECIPES_TESTING_MEMORY_HOST_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "lib/base/boot_time.h"
#include "lib/base/mutex.h"
#include "lib/zk/loop/resolver.h"
#include "lib/zk/loop/timer_queue.h"
#include "lib/zk/seam/handle.h"
#include "lib/zk/seam/reactor.h"
#include "testing/memory/model_ensemble.h"
#include "zkrecipes/executor.h"

namespace zkrecipes::testing::memory {

class MemoryHandle;

// The time of a simulation: thread-safe to read, moved by the simulation alone.
class Clock {
 public:
  base::BootTime Now() const {
    return base::BootTime::SinceBoot(absl::Nanoseconds(nanoseconds_.load()));
  }
  // Rounded up, since a deadline may lie between two nanoseconds; the latest there is for what is
  // later than that.
  void Set(base::BootTime now) {
    const int64_t down = absl::ToInt64Nanoseconds(now.since_boot());
    const bool up = absl::Nanoseconds(down) < now.since_boot() && down < kLatest;
    nanoseconds_ = up ? down + 1 : down;
  }

 private:
  static constexpr int64_t kLatest = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> nanoseconds_{1'000'000'000};
};

// Tasks in line. Thread-safe; whether there are any is asked all the time, and takes no lock.
class TaskLine {
 public:
  using Task = zk::Reactor::Task;

  void Add(Task task);  // dropped if the line is closed
  // REQUIRES: which < size()
  Task Take(size_t which);
  size_t size() const { return size_.load(std::memory_order_acquire); }
  // Takes `last`, unless the line was closed before, and then no more. What is in it stays.
  void CloseWith(Task last);
  // Takes no more, and drops what is in it.
  void Clear();

 private:
  void AddLocked(Task task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  base::Mutex mutex_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<size_t> size_{0};
};

// The process of one client of the ensemble in memory: its loop, its clock and its network, of
// which a simulation runs one step after another. Post, Execute, Now and Random are thread-safe;
// everything else is for the simulation's thread.
class Host final : public zk::Reactor,
                   public zk::HandleFactory,
                   public zk::loop::Resolver,
                   public Executor {
 public:
  enum class Network {
    kUp,
    kDown,    // connections break, attempts are refused
    kDeaf,    // what is sent arrives, nothing comes back
    kSilent,  // nothing arrives, in either direction
  };

  // `wake` is called, on any thread, when there is something new to do; it may outlive all else.
  Host(std::shared_ptr<ModelEnsemble> ensemble, std::shared_ptr<const Clock> clock, uint64_t seed,
       std::function<void()> wake);
  ~Host() override;

  void Post(Task task) override;
  base::BootTime Now() override;
  uint64_t Random() override;
  TimerId CallAt(base::BootTime when, Task task) override;
  void Cancel(TimerId id) override;
  absl::StatusOr<std::unique_ptr<zk::Handle>> Open(const zk::HandleOptions& options,
                                                   zk::HandleListener* listener) override;
  // "memory-0", "memory-1", ... are the servers, wherever they are now.
  void Resolve(const std::vector<zk::ServerAddress>& servers, Each each) override;
  void Execute(absl::AnyInvocable<void() &&> task) override;
  // Takes no more tasks; when those that it has have run, its timers are dropped. Thread-safe.
  void Stop();
  // Drops the executor's tasks, now and from now on: what they call may be gone.
  void Mute();
  // Drops everything at once.
  void Abandon();

  // ---- Steps; each REQUIRES that it can be taken -----------------------------------------------

  bool CanRunTask() const { return !paused_ && tasks_.size() > 0; }
  void RunTask();
  size_t tasks() const { return tasks_.size(); }
  // Tasks for the executor: any of them may run next.
  size_t callbacks() const { return callbacks_.size(); }
  void RunCallback(size_t which);
  bool CanRunTimer();
  void RunTimer();
  bool CanDeliver() const;
  void Deliver();
  // When the next timer is due, by the simulation's clock.
  base::BootTime NextTimer() const;
  size_t timers() const { return timers_.size(); }  // that are not due yet, nor cancelled

  // ---- Conditions -------------------------------------------------------------------------------

  bool stopped() const { return stopped_; }
  bool paused() const { return paused_; }
  void set_paused(bool paused) { paused_ = paused; }
  Network network() const { return network_; }
  void set_network(Network network);
  // Only this server can be reached from here; by default all of them, in turn.
  void set_only_server(std::optional<int> server) { only_server_ = server; }
  // Packets between here and this server are dropped, in both directions.
  void set_drops(int server, bool drops) { drops_.set(server, drops); }
  bool drops(int server) const { return drops_[server]; }
  // Nothing arrives on this connection, in either direction.
  bool Silences(ConnectionId connection) const;
  // Seconds of this clock in one second of the ensemble's. From now on.
  void set_clock_rate(double rate);
  // Breaks the connections there are; new ones can be made.
  void BreakConnections();
  bool Owns(ConnectionId connection) const;
  // The server that the client is connected to, if it has a session there.
  std::optional<int> ConnectedTo() const;

 private:
  friend class MemoryHandle;
  base::BootTime ToGlobal(base::BootTime local) const;
  bool Hears(const MemoryHandle& handle) const;

  const std::shared_ptr<ModelEnsemble> ensemble_;
  const std::shared_ptr<const Clock> clock_;
  const std::function<void()> wake_;

  mutable base::Mutex mutex_;
  std::mt19937_64 random_ ABSL_GUARDED_BY(mutex_);
  // Whether the clock was ever anything but the simulation's: until then it is read without a lock.
  std::atomic<bool> own_clock_{false};
  // Local time runs from `local_origin_`, at `global_origin_`, with `rate_`.
  base::BootTime global_origin_ ABSL_GUARDED_BY(mutex_);
  base::BootTime local_origin_ ABSL_GUARDED_BY(mutex_);
  double rate_ ABSL_GUARDED_BY(mutex_) = 1.0;

  TaskLine tasks_;
  TaskLine callbacks_;
  bool stopped_ = false;
  zk::loop::TimerQueue timers_;
  std::vector<MemoryHandle*> handles_;
  bool paused_ = false;
  Network network_ = Network::kUp;
  std::optional<int> only_server_;
  parts::ServerSet drops_;
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_TESTING_MEMORY_HOST_H_

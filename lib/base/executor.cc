// SPDX-License-Identifier: Apache-2.0

#include "lib/base/executor.h"

#include <signal.h>

#include <atomic>
#include <deque>
#include <utility>

#include "lib/base/mutex.h"
#include "lib/base/process.h"
#include "lib/base/shortage.h"

namespace zkrecipes {
namespace base {
namespace {

using Task = absl::AnyInvocable<void() &&>;

// Threads that are added one after another: while one is being started no second one is, and the
// first thing that a new one does is to see whether yet another is needed. So tasks that are over
// soon share a few threads, however many come at once.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  explicit Pool(const PoolOptions& options)
      : most_threads_(options.most_threads),
        idle_for_(absl::ToChronoNanoseconds(options.idle_for)),
        start_(options.start),
        later_(options.later) {}

  void Execute(Task task, const sigset_t& signals) {
    {
      MutexLock lock(mutex_);
      tasks_.push_back({std::move(task), signals});
      if (!NeedsThread()) return work_.NotifyOne();
    }
    // Without the lock: a start may take long, and tasks are handed over meanwhile.
    const MutexLock one(start_mutex_);
    (void)Start();  // if there is none the task stays in line
  }

  absl::Status KeepThread() {
    if (kept_.load()) return absl::OkStatus();
    const MutexLock one(start_mutex_);  // whatever is counted under it has been started
    absl::Status started;
    if (Keeps()) started = Start();
    kept_.store(started.ok());
    return started;
  }

  // Nothing more will be handed over.
  void Over() {
    MutexLock lock(mutex_);
    over_ = true;
    work_.NotifyAll();
  }

 private:
  struct Waiting {
    Task task;
    sigset_t signals;
  };

  // From here on the last idle thread stays. True if there is none at all.
  bool Keeps() {
    MutexLock lock(mutex_);
    keeps_ = true;
    return threads_ == 0;
  }

  // True if the caller has to start one: every waiting task must have a waiting thread of its own,
  // or one that is being started.
  bool NeedsThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (starting_ || idle_ >= tasks_.size() || threads_ >= most_threads_) return false;
    starting_ = true;
    return true;
  }

  absl::Status Start() ABSL_EXCLUSIVE_LOCKS_REQUIRED(start_mutex_) {
    {
      MutexLock lock(mutex_);
      ++threads_;
    }
    absl::Status started = start_([self = shared_from_this()] { self->Run(); });
    if (started.ok()) return started;
    {
      MutexLock lock(mutex_);
      starting_ = false;
      --threads_;
      if (later_ == nullptr || tasks_.empty() || std::exchange(retries_, true)) return started;
    }
    later_([pool = weak_from_this()] {
      if (const auto self = pool.lock()) self->Retry();
    });
    return started;
  }

  // Every thread may be blocked in a task of the user's: none of them would start another.
  void Retry() {
    {
      MutexLock lock(mutex_);
      retries_ = false;
      if (!NeedsThread()) return;
    }
    const MutexLock one(start_mutex_);
    (void)Start();
  }

  void Run() {
    Waiting next;
    for (bool first = true; Next(next, first); first = false) {
      // Before each task, since the one before may have changed the mask.
      pthread_sigmask(SIG_SETMASK, &next.signals, nullptr);
      std::exchange(next.task, nullptr)();
    }
  }

  bool Next(Waiting& next, bool first) {
    bool more = false;
    {
      MutexLock lock(mutex_);
      if (first) starting_ = false;
      if (!AwaitTask()) {
        // Under the lock that has seen no task: one that is handed over later finds a thread less,
        // and starts another.
        --threads_;
        return false;
      }
      next = std::move(tasks_.front());
      tasks_.pop_front();
      // The next link of the chain: tasks may have come while this thread was started.
      more = NeedsThread();
    }
    if (!more) return true;
    const MutexLock one(start_mutex_);
    (void)Start();
    return true;
  }

  // False when none came for `idle_for_`, unless this is the thread that is kept.
  bool AwaitTask() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!tasks_.empty()) return true;
    // A signal is for a thread of the program, not for one that only waits here.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    ++idle_;
    // No deadline of a user depends on this: it only says when an idle thread ends.
    const auto until = std::chrono::steady_clock::now() + idle_for_;
    while (tasks_.empty() && !over_) {
      const auto left = until - std::chrono::steady_clock::now();
      if (keeps_ && idle_ == 1) {
        work_.Wait(mutex_);
      } else if (left > std::chrono::nanoseconds::zero()) {
        work_.WaitFor(mutex_, left);
      } else {
        break;
      }
    }
    --idle_;
    return !tasks_.empty();
  }

  const size_t most_threads_;
  const std::chrono::nanoseconds idle_for_;
  const StartThread start_;
  const std::function<void(std::function<void()>)> later_;
  Mutex start_mutex_;               // one start at a time; locked before mutex_
  std::atomic<bool> kept_ = false;  // there is a thread, and it is kept
  Mutex mutex_;
  CondVar work_;
  std::deque<Waiting> tasks_ ABSL_GUARDED_BY(mutex_);
  size_t threads_ ABSL_GUARDED_BY(mutex_) = 0;  // also the one that is being started
  size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;     // wait for a task
  bool starting_ ABSL_GUARDED_BY(mutex_) = false;
  bool retries_ ABSL_GUARDED_BY(mutex_) = false;  // later_ will
  bool keeps_ ABSL_GUARDED_BY(mutex_) = false;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
};

// A maker's view of a pool: its tasks run with the maker's signal mask. If it `owns` the pool, that
// ends with it: its threads do not wait for another task, the one that is kept least of all.
class PoolExecutor : public GrowingExecutor {
 public:
  PoolExecutor(std::shared_ptr<Pool> pool, bool owns) : pool_(std::move(pool)), owns_(owns) {
    pthread_sigmask(SIG_BLOCK, nullptr, &signals_);
  }
  ~PoolExecutor() override {
    if (owns_) pool_->Over();
  }
  void Execute(Task task) override { pool_->Execute(std::move(task), signals_); }
  absl::Status KeepThread() override { return pool_->KeepThread(); }

 private:
  const std::shared_ptr<Pool> pool_;
  const bool owns_;
  sigset_t signals_;
};

std::shared_ptr<Pool> NewPool(PoolOptions options) {
  if (options.start == nullptr) {
    options.start = [](std::function<void()> run) {
      return StartDetached("a thread for callbacks", std::move(run)).status();
    };
  }
  return std::make_shared<Pool>(options);
}

// Nothing is started by making one, so it may be dropped again.
struct SharedPool {
  const std::shared_ptr<Pool> callbacks = NewPool({});
};

class Inline : public Executor {
 public:
  // A task that throws ends the process, as on a thread of its own.
  void Execute(Task task) noexcept override { std::move(task)(); }
};

}  // namespace

std::shared_ptr<GrowingExecutor> NewGrowingExecutor(const PoolOptions& options) {
  return std::make_shared<PoolExecutor>(NewPool(options), /*owns=*/true);
}

std::shared_ptr<Executor> SharedExecutor() {
  return std::make_shared<PoolExecutor>(OfThisProcess<SharedPool>().callbacks, /*owns=*/false);
}

absl::Status KeepSharedThread() { return OfThisProcess<SharedPool>().callbacks->KeepThread(); }

}  // namespace base

std::shared_ptr<Executor> InlineExecutor() { return std::make_shared<base::Inline>(); }

}  // namespace zkrecipes

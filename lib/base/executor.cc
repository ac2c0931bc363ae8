// SPDX-License-Identifier: Apache-2.0

#include "lib/base/executor.h"

#include <signal.h>

#include <atomic>
#include <deque>
#include <system_error>
#include <thread>
#include <utility>

#include "lib/base/mutex.h"
#include "lib/base/process.h"

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
        start_(options.start) {}

  void Execute(Task task, const sigset_t& signals) {
    {
      MutexLock lock(mutex_);
      tasks_.push_back({std::move(task), signals});
      if (!NeedsThread()) return work_.NotifyOne();
    }
    // Without the lock: a start may take long, and tasks are handed over meanwhile.
    Start();
  }

 private:
  struct Waiting {
    Task task;
    sigset_t signals;
  };

  // True if the caller has to start one: every waiting task must have a waiting thread of its own,
  // or one that is being started.
  bool NeedsThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (starting_ || idle_ >= tasks_.size() || threads_ == most_threads_) return false;
    starting_ = true;
    ++threads_;
    return true;
  }

  void Start() {
    try {
      start_([self = shared_from_this()] { self->Run(); });
    } catch (const std::system_error&) {  // the task stays in line
      MutexLock lock(mutex_);
      starting_ = false;
      --threads_;
    }
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
    if (more) Start();
    return true;
  }

  // False when none came for `idle_for_`.
  bool AwaitTask() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!tasks_.empty()) return true;
    ++idle_;
    // No deadline of a user depends on this: it only says when an idle thread ends.
    const auto until = std::chrono::steady_clock::now() + idle_for_;
    while (tasks_.empty()) {
      const auto left = until - std::chrono::steady_clock::now();
      if (left <= std::chrono::nanoseconds::zero()) break;
      work_.WaitFor(mutex_, left);
    }
    --idle_;
    return !tasks_.empty();
  }

  const size_t most_threads_;
  const std::chrono::nanoseconds idle_for_;
  const StartThread start_;
  Mutex mutex_;
  CondVar work_;
  std::deque<Waiting> tasks_ ABSL_GUARDED_BY(mutex_);
  size_t threads_ ABSL_GUARDED_BY(mutex_) = 0;  // also the one that is being started
  size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;     // wait for a task
  bool starting_ ABSL_GUARDED_BY(mutex_) = false;
};

// A maker's view of a pool: its tasks run with the maker's signal mask.
class PoolExecutor : public Executor {
 public:
  explicit PoolExecutor(std::shared_ptr<Pool> pool) : pool_(std::move(pool)) {
    pthread_sigmask(SIG_BLOCK, nullptr, &signals_);
  }
  void Execute(Task task) override { pool_->Execute(std::move(task), signals_); }

 private:
  const std::shared_ptr<Pool> pool_;
  sigset_t signals_;
};

std::shared_ptr<Pool> NewPool(PoolOptions options) {
  if (options.start == nullptr) {
    options.start = [](std::function<void()> run) { std::thread(run).detach(); };
  }
  return std::make_shared<Pool>(options);
}

// Never destroyed: a thread may outlive the end of main. A forked child, which has none of the
// threads, makes its own, and keeps its parent's reachable.
struct SharedPools {
  const HomeProcess home = {};
  const std::shared_ptr<Pool> callbacks = NewPool({});
  const std::shared_ptr<Pool> notices = NewPool({});
  const SharedPools* parents = nullptr;
};

const SharedPools& PoolsOfThisProcess() {
  static std::atomic<const SharedPools*> current{nullptr};
  const SharedPools* pools = current.load();
  if (pools != nullptr && pools->home.IsThisProcess()) return *pools;
  const auto* const mine = new SharedPools{.parents = pools};
  // Whoever loses has not started a thread yet, so its pools are simply dropped.
  if (current.compare_exchange_strong(pools, mine)) return *mine;
  delete mine;  // another thread was first
  return *pools;
}

class Inline : public Executor {
 public:
  void Execute(Task task) override { std::move(task)(); }
};

}  // namespace

std::shared_ptr<Executor> NewGrowingExecutor(const PoolOptions& options) {
  return std::make_shared<PoolExecutor>(NewPool(options));
}

std::shared_ptr<Executor> SharedExecutor(Line line) {
  const SharedPools& pools = PoolsOfThisProcess();
  return std::make_shared<PoolExecutor>(line == Line::kNotices ? pools.notices : pools.callbacks);
}

}  // namespace base

std::shared_ptr<Executor> InlineExecutor() { return std::make_shared<base::Inline>(); }

}  // namespace zkrecipes

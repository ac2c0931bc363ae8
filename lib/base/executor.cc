// SPDX-License-Identifier: Apache-2.0

#include "lib/base/executor.h"

#include <signal.h>

#include <deque>
#include <system_error>
#include <thread>
#include <utility>

#include "lib/base/mutex.h"

namespace zkrecipes {
namespace base {
namespace {

using Task = absl::AnyInvocable<void() &&>;

class Pool : public std::enable_shared_from_this<Pool> {
 public:
  Pool(absl::Duration idle_for, StartThread start)
      : idle_for_(absl::ToChronoNanoseconds(idle_for)), start_(start) {
    pthread_sigmask(SIG_BLOCK, nullptr, &makers_signals_);
  }

  void Execute(Task task) {
    {
      MutexLock lock(mutex_);
      tasks_.push_back(std::move(task));
      // Every waiting task must have a waiting thread of its own.
      if (idle_ >= tasks_.size()) {
        work_.NotifyOne();
        return;
      }
    }
    try {
      start_([self = shared_from_this()] { self->Run(); });
    } catch (const std::system_error&) {  // the task stays in line
    }
  }

 private:
  void Run() {
    pthread_sigmask(SIG_SETMASK, &makers_signals_, nullptr);
    Task task;
    while (Next(task)) std::exchange(task, nullptr)();
  }

  // Waits for a task; false when none came for `idle_for_` and this thread should end.
  bool Next(Task& task) {
    MutexLock lock(mutex_);
    if (tasks_.empty()) {
      ++idle_;
      const auto until = std::chrono::steady_clock::now() + idle_for_;
      while (tasks_.empty()) {
        const auto left = until - std::chrono::steady_clock::now();
        if (left <= std::chrono::nanoseconds::zero()) break;
        work_.WaitFor(mutex_, left);
      }
      --idle_;
    }
    if (tasks_.empty()) return false;
    task = std::move(tasks_.front());
    tasks_.pop_front();
    return true;
  }

  const std::chrono::nanoseconds idle_for_;
  const StartThread start_;
  sigset_t makers_signals_;
  Mutex mutex_;
  CondVar work_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;
};

class GrowingExecutor : public Executor {
 public:
  GrowingExecutor(absl::Duration idle_for, StartThread start)
      : pool_(std::make_shared<Pool>(idle_for, start)) {}
  void Execute(Task task) override { pool_->Execute(std::move(task)); }

 private:
  const std::shared_ptr<Pool> pool_;
};

class Inline : public Executor {
 public:
  void Execute(Task task) override { std::move(task)(); }
};

}  // namespace

std::shared_ptr<Executor> NewGrowingExecutor(absl::Duration idle_for, StartThread start) {
  if (start == nullptr) start = [](std::function<void()> run) { std::thread(run).detach(); };
  return std::make_shared<GrowingExecutor>(idle_for, start);
}

}  // namespace base

std::shared_ptr<Executor> InlineExecutor() { return std::make_shared<base::Inline>(); }

}  // namespace zkrecipes

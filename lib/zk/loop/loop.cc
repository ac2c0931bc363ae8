// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/loop.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <utility>
#include <vector>

#include "lib/base/mutex.h"
#include "lib/base/process.h"
#include "lib/base/random.h"
#include "lib/base/shortage.h"
#include "lib/zk/c_client/c_client.h"
#include "lib/zk/loop/alarm.h"
#include "lib/zk/loop/pollables.h"
#include "lib/zk/loop/ready_set.h"
#include "lib/zk/loop/timer_queue.h"

namespace zkrecipes::zk::loop {
namespace {

class LoopImpl final : public internal::Loop, public c_client::PollSet {
 public:
  explicit LoopImpl(absl::Duration longest_wait) : set_(longest_wait) {}
  bool ok() const { return set_.ok() && alarm_.ok(); }

  void Post(Task task) override;
  base::BootTime Now() override { return base::BootNow(); }
  uint64_t Random() override { return base::RandomBits(); }
  TimerId CallAt(base::BootTime when, Task task) override;
  void Cancel(TimerId id) override;
  absl::StatusOr<std::unique_ptr<Handle>> Open(const HandleOptions& options,
                                               HandleListener* listener) override;
  void Stop() override;
  std::thread::id thread() const override { return own_thread_; }
  bool TakeOver() override;
  void RunUntil(absl::FunctionRef<bool()> over, base::BootTime deadline) noexcept override;
  void GiveBack() override;
  bool OnThread() const override { return std::this_thread::get_id() == thread_.load(); }
  bool InHomeProcess() const override { return home_.IsThisProcess(); }

  void Add(c_client::Pollable* pollable) override {
    assert(OnThread());
    pollables_.Add(pollable);
  }
  void Remove(c_client::Pollable* pollable) override {
    assert(OnThread());
    pollables_.Remove(pollable);
  }
  void Closes(int fd) override {
    assert(OnThread());
    pollables_.Closes(fd);
  }

  void Run();
  void OwnThreadIs(std::thread::id id) { own_thread_ = id; }

 private:
  enum class Turn { kOwnThread, kCaller };

  bool Enqueue(Task task, bool last) ABSL_LOCKS_EXCLUDED(mutex_);
  void PassTurn(Turn to, std::thread::id thread) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  base::BootTime NextDue() const;
  void EndRound(Turn mine, base::BootTime at_most);
  bool GoToSleep(Turn mine, base::BootTime at_most);
  bool TakePosted(Turn mine);
  void RunPosted();
  void RunDueTimers();

  const base::HomeProcess home_;
  ReadySet set_;
  Alarm alarm_{set_};

  base::Mutex mutex_;
  std::vector<Task> posted_ ABSL_GUARDED_BY(mutex_);
  // The thread that has the turn is to be woken for a task; the turn may go if that is the loop's.
  bool asleep_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;  // takes no more tasks
  Turn turn_ ABSL_GUARDED_BY(mutex_) = Turn::kOwnThread;

  std::thread::id own_thread_;             // set once, before the loop is given out
  std::atomic<std::thread::id> thread_{};  // that has the turn

  // Of the thread that has the turn: no other one reads or writes any of it.
  bool stopped_ = false;
  std::vector<Task> running_;  // kept for its room: a round allocates nothing
  TimerQueue timers_;
  Pollables pollables_{set_};
};

void LoopImpl::Post(Task task) {
  if (Enqueue(std::move(task), /*last=*/false)) alarm_.Ring();
}

void LoopImpl::Stop() {
  if (Enqueue([this] { stopped_ = true; }, /*last=*/true)) alarm_.Ring();
}

// True if the thread that has the turn must be woken for the task.
bool LoopImpl::Enqueue(Task task, bool last) {
  // In a forked child the mutex may be held for ever, by a thread that is not there.
  if (!home_.IsThisProcess()) {
    base::Leak(std::make_shared<Task>(std::move(task)));
    return false;
  }
  base::MutexLock lock(mutex_);
  if (closed_) return false;  // a parameter outlives the lock: `task` is destroyed after it
  posted_.push_back(std::move(task));
  closed_ = last;
  return std::exchange(asleep_, false);
}

Reactor::TimerId LoopImpl::CallAt(base::BootTime when, Task task) {
  assert(OnThread());
  return timers_.Add(when, std::move(task));
}

void LoopImpl::Cancel(TimerId id) {
  assert(OnThread());
  timers_.Cancel(id);
}

absl::StatusOr<std::unique_ptr<Handle>> LoopImpl::Open(const HandleOptions& options,
                                                       HandleListener* listener) {
  assert(OnThread());
  return c_client::OpenCHandle(options, listener, this, this);
}

void LoopImpl::Run() {
  thread_ = std::this_thread::get_id();
  pthread_setname_np(pthread_self(), "zkrecipes-io");
  while (!stopped_) {
    pollables_.Drain(Now());
    pollables_.Prepare(Now());
    EndRound(Turn::kOwnThread, base::BootTime::InfiniteFuture());
  }
  // Here, and not with this object: destroying what a timer holds may use the loop, and cancel
  // other timers.
  static_cast<void>(std::exchange(timers_, TimerQueue()));
  thread_ = std::thread::id();  // another thread may get its number
}

// The turn goes from the loop's thread to a caller, and back, only while that thread is asleep_:
// between GoToSleep and TakePosted, EndRound touches only what may be touched without the turn.
// TakePosted asks under the mutex whose turn it is, before the round goes on, and no other
// handshake between the threads is needed. That the turn went and came back meanwhile makes no
// difference.
void LoopImpl::PassTurn(Turn to, std::thread::id thread) {
  assert(turn_ != to);
  turn_ = to;
  thread_ = thread;
}

bool LoopImpl::TakeOver() {
  // As in Enqueue: before the mutex.
  if (!home_.IsThisProcess()) return false;
  base::MutexLock lock(mutex_);
  if (closed_ || turn_ == Turn::kCaller) return false;
  // In the middle of a round it may be busy for long.
  if (!std::exchange(asleep_, false)) return false;
  PassTurn(Turn::kCaller, std::this_thread::get_id());
  set_.Lend();
  return true;
}

void LoopImpl::RunUntil(absl::FunctionRef<bool()> over, base::BootTime deadline) noexcept {
  assert(OnThread());
  // Whatever the caller has posted before leaves in the first round: a poll comes after it, and not
  // before.
  TakePosted(Turn::kCaller);
  RunPosted();
  while (!stopped_) {
    pollables_.Drain(Now());
    // If nothing is to be sent, pings can wait for the next round, on whichever thread that is.
    if (over() && !pollables_.AnyTouched()) return;
    pollables_.Prepare(Now());
    if (over() || Now() >= deadline) return;
    EndRound(Turn::kCaller, deadline);
  }
}

// The loop's thread is still asleep, or about to look whose turn it is. It goes on by what is ready
// in the set now, and later; so what the set does not know has to ring, and nobody takes the turn
// before it was heard.
void LoopImpl::GiveBack() {
  assert(OnThread());
  const base::BootTime due = NextDue(), now = Now();
  const bool at_once = due <= now || stopped_ || pollables_.AnyTouched();
  if (!at_once) alarm_.RingAt(due, now);
  base::MutexLock lock(mutex_);
  asleep_ = !at_once && posted_.empty();
  if (!asleep_) alarm_.Ring();
  PassTurn(Turn::kOwnThread, own_thread_);
  set_.TakeBack();
}

base::BootTime LoopImpl::NextDue() const { return std::min(timers_.Next(), pollables_.until()); }

void LoopImpl::EndRound(Turn mine, base::BootTime at_most) {
  const bool asleep = GoToSleep(mine, at_most);
  const bool own = mine == Turn::kOwnThread;
  std::optional<ReadySet::Ready> ready;
  if (!own) ready = set_.Look(asleep);
  do {
    if (own && asleep) set_.Sleep();
  } while (!TakePosted(mine));
  if (own) ready = set_.Look(/*blocks=*/false);
  RunPosted();
  if (stopped_) return;
  RunDueTimers();
  pollables_.Ready(ready);
}

// False if there is work already. Decided under the mutex, so that a task posted later rings the
// alarm.
bool LoopImpl::GoToSleep([[maybe_unused]] Turn mine, base::BootTime at_most) {
  const base::BootTime next = std::min(NextDue(), at_most), now = Now();
  if (next <= now) return false;
  alarm_.RingAt(next, now);
  base::MutexLock lock(mutex_);
  assert(turn_ == mine && !asleep_);  // it was awake, so nobody has taken the turn
  asleep_ = posted_.empty();
  return asleep_;
}

// From here on the thread is not asleep: tasks that are posted later are for the next round, and
// ring no alarm. False if the turn is not `mine`, but a caller's. Then asleep_ is the other
// thread's, and is left alone.
bool LoopImpl::TakePosted(Turn mine) {
  base::MutexLock lock(mutex_);
  if (turn_ != mine) {
    assert(mine == Turn::kOwnThread);
    return false;
  }
  asleep_ = false;
  assert(running_.empty());
  running_.swap(posted_);
  return true;
}

void LoopImpl::RunPosted() {
  // Each goes before the next one runs: what it holds may be waited for.
  for (Task& task : running_) std::exchange(task, nullptr)();
  running_.clear();
}

void LoopImpl::RunDueTimers() {
  const base::BootTime now = Now();
  const TimerId mark = timers_.Mark();  // timers that these add wait for the next round
  while (Task task = timers_.TakeDue(now, mark)) std::move(task)();
}

}  // namespace
}  // namespace zkrecipes::zk::loop

namespace zkrecipes::internal {

absl::StatusOr<std::shared_ptr<Loop>> Loop::Start(absl::Duration longest_wait) {
  auto loop = std::make_shared<zk::loop::LoopImpl>(longest_wait);
  if (!loop->ok()) {
    return base::Shortage("cannot make the I/O loop's descriptors", errno);
  }
  const auto thread = base::StartDetached("the I/O loop's thread", [loop] { loop->Run(); });
  if (!thread.ok()) return thread.status();
  loop->OwnThreadIs(*thread);
  return std::shared_ptr<Loop>(std::move(loop));
}

}  // namespace zkrecipes::internal

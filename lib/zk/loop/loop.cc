// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/loop.h"

#include <pthread.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

#include "lib/base/shortage.h"

namespace zkrecipes::internal {

absl::StatusOr<std::shared_ptr<Loop>> Loop::Start(absl::Duration longest_wait) {
  auto loop = std::make_shared<Loop>(longest_wait);
  if (!loop->set_.ok() || !loop->alarm_.ok()) {
    return base::Shortage("cannot make the I/O loop's descriptors", errno);
  }
  const auto thread = base::StartDetached("the I/O loop's thread", [loop] { loop->Run(); });
  if (!thread.ok()) return thread.status();
  loop->own_thread_ = *thread;
  return loop;
}

void Loop::Post(Task task) {
  if (Enqueue(std::move(task), /*last=*/false)) alarm_.Ring();
}

void Loop::Stop() {
  if (Enqueue([this] { stopped_ = true; }, /*last=*/true)) alarm_.Ring();
}

// True if the thread that has the turn must be woken for the task.
bool Loop::Enqueue(Task task, bool last) {
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

zk::Reactor::TimerId Loop::CallAt(base::BootTime when, Task task) {
  assert(OnThread());
  return timers_.Add(when, std::move(task));
}

void Loop::Cancel(TimerId id) {
  assert(OnThread());
  timers_.Cancel(id);
}

absl::StatusOr<std::unique_ptr<zk::Handle>> Loop::Open(const zk::HandleOptions& options,
                                                       zk::HandleListener* listener) {
  assert(OnThread());
  return zk::c_client::OpenCHandle(options, listener, this, this);
}

void Loop::Add(zk::c_client::Pollable* pollable) {
  assert(OnThread());
  pollables_.Add(pollable);
}

void Loop::Remove(zk::c_client::Pollable* pollable) {
  assert(OnThread());
  pollables_.Remove(pollable);
}

void Loop::Closes(int fd) {
  assert(OnThread());
  pollables_.Closes(fd);
}

void Loop::Run() {
  thread_ = std::this_thread::get_id();
  pthread_setname_np(pthread_self(), "zkrecipes-io");
  while (!stopped_) {
    pollables_.Drain(Now());
    pollables_.Prepare(Now());
    EndRound(Turn::kOwnThread, base::BootTime::InfiniteFuture());
  }
  // Here, and not with this object: destroying what a timer holds may use the loop, and cancel
  // other timers.
  static_cast<void>(std::exchange(timers_, zk::loop::TimerQueue()));
  thread_ = std::thread::id();  // another thread may get its number
}

// The turn goes from the loop's thread to a caller, and back, only while that thread is asleep_:
// between GoToSleep and TakePosted, EndRound touches only what may be touched without the turn.
// TakePosted asks under the mutex whose turn it is, before the round goes on, and no other
// handshake between the threads is needed. That the turn went and came back meanwhile makes no
// difference.
void Loop::PassTurn(Turn to, std::thread::id thread) {
  assert(turn_ != to);
  turn_ = to;
  thread_ = thread;
}

bool Loop::TakeOver() {
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

void Loop::RunUntil(absl::FunctionRef<bool()> over, base::BootTime deadline) noexcept {
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
void Loop::GiveBack() {
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

base::BootTime Loop::NextDue() const { return std::min(timers_.Next(), pollables_.until()); }

void Loop::EndRound(Turn mine, base::BootTime at_most) {
  const bool asleep = GoToSleep(mine, at_most);
  const bool own = mine == Turn::kOwnThread;
  std::optional<zk::loop::ReadySet::Ready> ready;
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
bool Loop::GoToSleep([[maybe_unused]] Turn mine, base::BootTime at_most) {
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
bool Loop::TakePosted(Turn mine) {
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

void Loop::RunPosted() {
  // Each goes before the next one runs: what it holds may be waited for.
  for (Task& task : running_) std::exchange(task, nullptr)();
  running_.clear();
}

void Loop::RunDueTimers() {
  const base::BootTime now = Now();
  const TimerId mark = timers_.Mark();  // timers that these add wait for the next round
  while (Task task = timers_.TakeDue(now, mark)) std::move(task)();
}

}  // namespace zkrecipes::internal

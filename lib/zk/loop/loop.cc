// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/loop.h"

#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <climits>
#include <thread>
#include <utility>
#include <vector>

#include "lib/base/mutex.h"
#include "lib/base/process.h"
#include "lib/base/random.h"
#include "lib/base/shortage.h"
#include "lib/zk/c_client/c_client.h"
#include "lib/zk/loop/alarm.h"
#include "lib/zk/loop/pollables.h"
#include "lib/zk/loop/timer_queue.h"

namespace zkrecipes::zk::loop {
namespace {

// How long the loop's thread leaves the turn to a caller that may be back soon. Whatever comes from
// the network meanwhile is late by so much; timers and tasks are not. It is longer than the time
// between a release and the next acquire, and about as long as it takes to wake a thread.
constexpr absl::Duration kCallerMayReturn = absl::Microseconds(100);

// Rounded up: a poll that ends too early would only begin another round.
int ToPollTimeout(absl::Duration wait) {
  constexpr int64_t kMillisecond = 1'000'000;
  const int64_t nanos = std::max<int64_t>(absl::ToInt64Nanoseconds(wait), 0);
  const int64_t rounded_up = nanos / kMillisecond + (nanos % kMillisecond != 0);
  return static_cast<int>(std::min<int64_t>(rounded_up, INT_MAX));
}

class LoopImpl final : public internal::Loop, public c_client::PollSet {
 public:
  bool ok() const { return alarm_.ok() && wake_.ok(); }

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

  void Run();
  void OwnThreadIs(std::thread::id id) { own_thread_ = id; }

 private:
  enum class Turn { kOwnThread, kCaller, kNobody };
  // The alarm's two, the own thread's wake_, and then one for each pollable that there was.
  static constexpr size_t kOwn = 3;
  using Polls = std::vector<pollfd>;

  bool Enqueue(Task task, bool last) ABSL_LOCKS_EXCLUDED(mutex_);
  void PassTurn(Turn to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AwaitTurn();
  bool EndRound(Turn mine, Polls& polls, base::BootTime at_most);
  void Prepare(Polls& polls, const pollfd& wake);
  int Timeout();
  bool GoToSleep(Turn mine);
  bool TakePosted(Turn mine);
  void RunPosted();
  void RunDueTimers();

  const base::HomeProcess home_;
  Alarm alarm_;

  base::Mutex mutex_;
  std::vector<Task> posted_ ABSL_GUARDED_BY(mutex_);
  bool asleep_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;  // takes no more tasks
  Turn turn_ ABSL_GUARDED_BY(mutex_) = Turn::kOwnThread;
  WakeTimer wake_;  // of the loop's own thread, when the turn goes and while it is gone

  std::thread::id own_thread_;             // set once, before the loop is given out
  std::atomic<std::thread::id> thread_{};  // that has the turn

  // Of the thread that has the turn: no other one reads or writes any of it.
  bool stopped_ = false;
  std::vector<Task> running_;  // kept for its room: a round allocates nothing
  TimerQueue timers_;
  Pollables pollables_;
  Polls callers_polls_;  // in its rounds

  // Of the loop's own thread, whatever the turn: that thread may still be in poll when the turn has
  // gone.
  Polls own_polls_;
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
  // Nobody polls: the loop's thread must not wait until the time is over for which it leaves the
  // turn to the caller.
  if (turn_ == Turn::kNobody) wake_.Set(base::BootTime());
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
    Prepare(own_polls_, wake_.poll());
    if (!EndRound(Turn::kOwnThread, own_polls_, base::BootTime::InfiniteFuture())) AwaitTurn();
  }
  // Here, and not with this object: destroying what a timer holds may use the loop, and cancel
  // other timers.
  const TimerQueue dropped = std::exchange(timers_, TimerQueue());
  thread_ = std::thread::id();  // another thread may get its number
}

// To the calling thread, or to nobody; loop.h draws the ways. Whoever is asleep in poll has lost
// its turn, or is not asleep any more.
void LoopImpl::PassTurn(Turn to) {
  assert(!asleep_);
  switch (to) {
    case Turn::kOwnThread:
      assert(turn_ == Turn::kNobody);
      break;
    case Turn::kCaller:
      assert(turn_ != Turn::kCaller);
      break;
    case Turn::kNobody:
      assert(turn_ == Turn::kCaller);
      break;
  }
  turn_ = to;
  thread_ = to == Turn::kNobody ? std::thread::id() : std::this_thread::get_id();
}

// The turn goes from the loop's thread to a caller only while that thread sleeps in poll (asleep_):
// between GoToSleep and TakePosted, EndRound reads and writes nothing but its own polls. TakePosted
// asks under the mutex whose turn it is, before the round goes on, and no other handshake between
// the threads is needed. Only AwaitTurn, on the loop's thread, gives it the turn again: so a turn
// that TakePosted finds to be that thread's has been so all the time.
bool LoopImpl::TakeOver() {
  // As in Enqueue: before the mutex.
  if (!home_.IsThisProcess()) return false;
  base::MutexLock lock(mutex_);
  if (closed_ || turn_ == Turn::kCaller) return false;
  if (turn_ == Turn::kNobody) {
    wake_.Clear();
  } else {
    // In the middle of a round it may be busy for long.
    if (!std::exchange(asleep_, false)) return false;
    // Ends its poll now. It polls the same sockets, so it would otherwise be woken by the caller's
    // answer.
    wake_.Set(base::BootTime());
  }
  PassTurn(Turn::kCaller);
  return true;
}

// Blocks the loop's thread, which has lost the turn, until it has the turn again. The timer may
// have fired for TakeOver, or a caller may take the turn once more between its firing and the lock:
// then the wait begins again.
void LoopImpl::AwaitTurn() {
  for (;;) {
    wake_.Wait();
    base::MutexLock lock(mutex_);
    if (turn_ != Turn::kNobody) continue;  // a caller has it
    PassTurn(Turn::kOwnThread);
    wake_.Clear();  // it may have been set once more since
    return;
  }
}

void LoopImpl::RunUntil(absl::FunctionRef<bool()> over, base::BootTime deadline) noexcept {
  assert(OnThread());
  // Whatever the caller has posted before leaves in the first round: a poll comes after it, and not
  // before.
  TakePosted(Turn::kCaller);
  RunPosted();
  while (!stopped_) {
    pollables_.Drain(Now());
    // If nothing is to be sent, pings and reconnects can wait for the next round, on whichever
    // thread that is.
    if (over() && !pollables_.AnyTouched()) return;
    Prepare(callers_polls_, {-1, 0, 0});
    if (over() || Now() >= deadline) return;
    [[maybe_unused]] const bool still_mine = EndRound(Turn::kCaller, callers_polls_, deadline);
    assert(still_mine);  // nobody takes a caller's turn
  }
}

void LoopImpl::GiveBack() {
  assert(OnThread());
  const base::BootTime due = std::min(timers_.Next(), pollables_.until());
  const base::BootTime back = stopped_ ? base::BootTime() : Now() + kCallerMayReturn;
  base::MutexLock lock(mutex_);
  PassTurn(Turn::kNobody);
  // From here on nobody polls: the loop's thread must go on by the next timer or ping, and at once
  // for a task.
  wake_.Set(posted_.empty() ? std::min(due, back) : base::BootTime());
}

// False if a caller has taken the turn meanwhile. Then nothing is lost: a caller that polls the
// same sockets and alarm sees again all that this poll saw.
bool LoopImpl::EndRound(Turn mine, Polls& polls, base::BootTime at_most) {
  alarm_.RingAt(std::min(timers_.Next(), at_most));
  const int timeout = Timeout();
  // From GoToSleep to TakePosted the turn may go (TakeOver says when): nothing of this object may
  // be touched there, so all that poll needs has been read before, and `polls` are this thread's
  // own.
  const int ready = PollAnyway(polls, kOwn, GoToSleep(mine) ? timeout : 0);
  if (!TakePosted(mine)) return false;
  alarm_.Read(polls[0], polls[1]);
  RunPosted();
  if (stopped_) return true;
  RunDueTimers();
  if (ready > 0) pollables_.Ready(polls, kOwn);
  return true;
}

void LoopImpl::Prepare(Polls& polls, const pollfd& wake) {
  const auto alarms = alarm_.polls();
  polls.assign({alarms[0], alarms[1], wake});
  pollables_.Prepare(polls);
}

// The next poll's, in milliseconds. It does not count the time for which the machine is suspended,
// so it is for pings and reconnects only; for a timer the alarm rings.
int LoopImpl::Timeout() {
  if (pollables_.until() == base::BootTime::InfiniteFuture()) return -1;
  return ToPollTimeout(pollables_.until() - Now());
}

// False if there is work already. Decided under the mutex, so that a task posted later rings the
// alarm.
bool LoopImpl::GoToSleep([[maybe_unused]] Turn mine) {
  base::MutexLock lock(mutex_);
  assert(turn_ == mine && !asleep_);  // it was awake, so nobody has taken the turn
  asleep_ = posted_.empty();
  return asleep_;
}

// From here on the thread is not asleep: tasks that are posted later are for the next round, and
// ring no alarm. False if the turn is not `mine` any more. Then asleep_ is the other thread's, and
// is left alone.
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

absl::StatusOr<std::shared_ptr<Loop>> Loop::Start() {
  auto loop = std::make_shared<zk::loop::LoopImpl>();
  if (!loop->ok()) {
    return base::Shortage("cannot make the I/O loop's descriptors", errno);
  }
  const auto thread = base::StartDetached("the I/O loop's thread", [loop] { loop->Run(); });
  if (!thread.ok()) return thread.status();
  loop->OwnThreadIs(*thread);
  return std::shared_ptr<Loop>(std::move(loop));
}

}  // namespace zkrecipes::internal

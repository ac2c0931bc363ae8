// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_LOOP_LOOP_H_
#define ZKRECIPES_LIB_ZK_LOOP_LOOP_H_

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include "lib/base/boot_time.h"
#include "lib/base/mutex.h"
#include "lib/base/process.h"
#include "lib/base/random.h"
#include "lib/zk/c_client/c_client.h"
#include "lib/zk/loop/alarm.h"
#include "lib/zk/loop/pollables.h"
#include "lib/zk/loop/ready_set.h"
#include "lib/zk/loop/timer_queue.h"
#include "lib/zk/seam/handle.h"
#include "lib/zk/seam/reactor.h"

namespace zkrecipes::internal {

// The production reactor: one thread that waits for the sockets of its handles, an eventfd for
// posts and a timerfd on CLOCK_BOOTTIME for timers (a wait's own timeout does not count suspended
// time). It is also a factory of handles of Apache's single-threaded C client, driven by this loop.
// However many the handles, a round asks the kernel once what is ready, and calls only those that
// have something to do.
//
// A thread that waits for an answer may run the rounds itself meanwhile, and so is woken by the
// answer and not by another thread. One thread at a time does: it has the turn.
//
//                           TakeOver
//   its thread, asleep -------------------> a caller's thread
//                      <-------------------
//                           GiveBack
//
// Its thread sleeps on through all of this (ready_set.h), and wakes up only for what comes while
// the turn is its own.
//
//   round:  drain what the socket holds -> interest (pings, reconnects) -> flush -> wait
//           -> posts -> due timers -> process -> drain -> flush
class Loop final : public zk::Reactor, public zk::HandleFactory, public zk::c_client::PollSet {
 public:
  // Starts the thread. ResourceExhausted when descriptors or threads run out. `longest_wait`: by
  // then it notices that the program has closed its descriptors, and by nothing else (ready_set.h).
  static absl::StatusOr<std::shared_ptr<Loop>> Start(
      absl::Duration longest_wait = absl::Seconds(1));
  explicit Loop(absl::Duration longest_wait) : set_(longest_wait) {}  // for Start

  // Ends the loop after the tasks already posted; then the thread ends by itself. Later tasks and
  // timers are destroyed without being run. Thread-safe, does not wait. The loop's objects live
  // until its thread has ended. Handles must be closed before that, by a task of the loop.
  void Stop();

  // The loop's own. Thread-safe.
  std::thread::id thread() const { return own_thread_; }

  // From here to GiveBack the calling thread has the turn. False, at once, if it has to leave the
  // work to others: another caller has the turn, the loop's thread is in the middle of a round, or
  // the loop has been stopped. Does not wait.
  bool TakeOver();
  // Runs rounds until `over` (asked once a round) or `deadline`, or until the loop ends. To have it
  // asked again, post a task. What user code throws in one ends the process, as on the loop's
  // thread: it must not leave the call of another user. REQUIRES: the turn.
  void RunUntil(absl::FunctionRef<bool()> over, base::BootTime deadline) noexcept;
  void GiveBack();
  // Whether the calling thread has the turn. Thread-safe.
  bool OnThread() const { return std::this_thread::get_id() == thread_.load(); }
  // Not in a forked child, which lacks its thread.
  bool InHomeProcess() const { return home_.IsThisProcess(); }

  void Post(Task task) override;
  base::BootTime Now() override { return base::BootNow(); }
  uint64_t Random() override { return base::RandomBits(); }
  TimerId CallAt(base::BootTime when, Task task) override;
  void Cancel(TimerId id) override;
  absl::StatusOr<std::unique_ptr<zk::Handle>> Open(const zk::HandleOptions& options,
                                                   zk::HandleListener* listener) override;
  void Add(zk::c_client::Pollable* pollable) override;
  void Remove(zk::c_client::Pollable* pollable) override;
  void Closes(int fd) override;

 private:
  enum class Turn { kOwnThread, kCaller };

  void Run();
  bool Enqueue(Task task, bool last) ABSL_LOCKS_EXCLUDED(mutex_);
  void PassTurn(Turn to, std::thread::id thread) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  base::BootTime NextDue() const;
  void EndRound(Turn mine, base::BootTime at_most);
  bool GoToSleep(Turn mine, base::BootTime at_most);
  bool TakePosted(Turn mine);
  void RunPosted();
  void RunDueTimers();

  const base::HomeProcess home_;
  zk::loop::ReadySet set_;
  zk::loop::Alarm alarm_{set_};

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
  zk::loop::TimerQueue timers_;
  zk::loop::Pollables pollables_{set_};
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_ZK_LOOP_LOOP_H_

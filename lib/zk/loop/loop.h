// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_LOOP_LOOP_H_
#define ZKRECIPES_LIB_ZK_LOOP_LOOP_H_

#include <memory>
#include <thread>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include "lib/base/boot_time.h"
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
class Loop : public zk::Reactor, public zk::HandleFactory {
 public:
  // Starts the thread. ResourceExhausted when descriptors or threads run out. `longest_wait`: by
  // then it notices that the program has closed its descriptors, and by nothing else (ready_set.h).
  static absl::StatusOr<std::shared_ptr<Loop>> Start(
      absl::Duration longest_wait = absl::Seconds(1));

  // Ends the loop after the tasks already posted; then the thread ends by itself. Later tasks and
  // timers are destroyed without being run. Thread-safe, does not wait. The loop's objects live
  // until its thread has ended. Handles must be closed before that, by a task of the loop.
  virtual void Stop() = 0;

  // The loop's own. Thread-safe.
  virtual std::thread::id thread() const = 0;

  // From here to GiveBack the calling thread has the turn. False, at once, if it has to leave the
  // work to others: another caller has the turn, the loop's thread is in the middle of a round, or
  // the loop has been stopped. Does not wait.
  virtual bool TakeOver() = 0;
  // Runs rounds until `over` (asked once a round) or `deadline`, or until the loop ends. To have it
  // asked again, post a task. What user code throws in one ends the process, as on the loop's
  // thread: it must not leave the call of another user. REQUIRES: the turn.
  virtual void RunUntil(absl::FunctionRef<bool()> over, base::BootTime deadline) noexcept = 0;
  virtual void GiveBack() = 0;
  // Whether the calling thread has the turn. Thread-safe.
  virtual bool OnThread() const = 0;
  // Not in a forked child, which lacks its thread.
  virtual bool InHomeProcess() const = 0;
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_ZK_LOOP_LOOP_H_

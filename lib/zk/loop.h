// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_LOOP_H_
#define ZKRECIPES_LIB_ZK_LOOP_H_

#include <memory>
#include <thread>

#include "absl/status/statusor.h"

#include "lib/zk/handle.h"
#include "lib/zk/reactor.h"

namespace zkrecipes::zk {

// The production reactor: one thread that polls the sockets of its handles, an eventfd for posts and a
// timerfd on CLOCK_BOOTTIME for timers (poll's own timeout does not count suspended time).
// It is also a factory of handles of Apache's single-threaded C client, driven by this loop. A round costs a
// poll of all sockets, and beyond that only the handles that have something to do.
//
//   round:  drain what the socket holds -> interest (pings, reconnects) -> flush -> poll
//           -> posts -> due timers -> process -> drain -> flush
class Loop : public Reactor, public HandleFactory {
 public:
  // Starts the thread. ResourceExhausted when descriptors or threads run out.
  static absl::StatusOr<std::shared_ptr<Loop>> Start();

  // Ends the loop after the tasks already posted; then the thread ends by itself. Later tasks and
  // timers are destroyed without being run. Thread-safe, does not wait. The loop's objects live
  // until its thread has ended. Handles must be closed before that, by a task of the loop.
  virtual void Stop() = 0;

  // Thread-safe. Until it has begun: none.
  virtual std::thread::id thread() const = 0;
};

}  // namespace zkrecipes::zk

#endif  // ZKRECIPES_LIB_ZK_LOOP_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_SEAM_REACTOR_H_
#define ZKRECIPES_LIB_ZK_SEAM_REACTOR_H_

#include <cstdint>

#include "absl/functional/any_invocable.h"

#include "lib/base/boot_time.h"

namespace zkrecipes::zk::inline seam {

// Where all work of one client runs, one task after another: replies, watch events, timers and
// posted tasks. In production it is a thread with a poll loop (loop.h), in memory a scheduler that
// picks the next step from a seed.
class Reactor {
 public:
  using Task = absl::AnyInvocable<void() &&>;
  using TimerId = uint64_t;  // never 0

  virtual ~Reactor() = default;

  // Runs `task` later, in the order of posting. Thread-safe, never blocks, never runs it inline.
  virtual void Post(Task task) = 0;

  // The clock of everything that runs here. Thread-safe.
  virtual base::BootTime Now() = 0;

  // For random choices here: pauses, names. From a seed in memory. Thread-safe.
  virtual uint64_t Random() = 0;

  // Only from a task of this reactor: -----------------------------------------------------------

  // Runs `task` once, not before `when`; never inline. Counts suspended time.
  virtual TimerId CallAt(base::BootTime when, Task task) = 0;
  // No effect on a timer that has fired or was cancelled.
  virtual void Cancel(TimerId id) = 0;
};

}  // namespace zkrecipes::zk::inline seam

#endif  // ZKRECIPES_LIB_ZK_SEAM_REACTOR_H_

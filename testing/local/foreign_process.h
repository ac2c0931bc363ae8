// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_LOCAL_FOREIGN_PROCESS_H_
#define ZKRECIPES_TESTING_LOCAL_FOREIGN_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "absl/time/time.h"

#include "lib/base/unique_fd.h"


namespace zkrecipes::testing {

// When a process started, in clock ticks since the machine did: with the pid this names one process
// for ever. 0 if there is no such process, or if it has ended and was not reaped yet.
uint64_t StartTimeOf(pid_t pid);

// A process that another program may have started. It is held by descriptor, not by number: what is
// sent to it cannot reach a stranger that got its pid.
class ForeignProcess {
 public:
  // None if the process has ended, also if something else has its pid now.
  static std::optional<ForeignProcess> Find(pid_t pid, uint64_t start_time);

  void Signal(int signal);
  // False if it still runs after `timeout`.
  bool WaitForEnd(absl::Duration timeout);

 private:
  explicit ForeignProcess(base::UniqueFd fd) : fd_(std::move(fd)) {}

  base::UniqueFd fd_;
};

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_FOREIGN_PROCESS_H_

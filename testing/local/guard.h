// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_LOCAL_GUARD_H_
#define ZKRECIPES_TESTING_LOCAL_GUARD_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "lib/base/unique_fd.h"

namespace zkrecipes::testing {

// A process that makes sure that others do not outlive this one. It leads a process group, which
// the others join, and reads a socket that this process holds the other end of: when that closes,
// however this process ends, or when `max_lifetime` is over, it kills the group, itself included.
// (A parent death signal would not do: it is tied to the thread that forked.) The kernel does not
// reuse a group's number while the guard lives, so nothing else can be hit.
class Guard {
 public:
  // `temporary_directory` is removed when this process has ended or the guard is destroyed; empty is
  // none.
  static absl::StatusOr<std::unique_ptr<Guard>> Start(absl::Duration max_lifetime,
                                                      const std::string& temporary_directory);

  // Ends the guard and waits for it, and so kills what is still in the group.
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  pid_t group() const { return pid_; }

 private:
  Guard(pid_t pid, base::UniqueFd lifeline) : pid_(pid), lifeline_(std::move(lifeline)) {}

  const pid_t pid_;
  base::UniqueFd lifeline_;
};

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_GUARD_H_

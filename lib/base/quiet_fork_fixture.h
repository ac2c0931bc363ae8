// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_QUIET_FORK_FIXTURE_H_
#define ZKRECIPES_LIB_BASE_QUIET_FORK_FIXTURE_H_

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "absl/time/time.h"

#include "lib/base/boot_time.h"

namespace zkrecipes::base {

inline bool OtherThreadsSleep() {
  const std::string self = std::to_string(gettid());
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == self) continue;
    std::string stat;  // number (name) state ...
    std::getline(std::ifstream(task.path() / "stat"), stat);
    const size_t name_end = stat.rfind(") ");
    if (name_end != std::string::npos && stat[name_end + 2] != 'S') return false;
  }
  return true;
}

// fork(), once every other thread of the process sleeps. A child inherits the locks of threads that
// run. AddressSanitizer's allocator (clang 14, gcc 12) and the deadlock detector in absl::Mutex do
// not free theirs there, so a child that allocates or takes a Mutex may hang for ever.
inline pid_t ForkWhileOthersSleep() {
  const BootTime end = BootNow() + absl::Seconds(20);
  while (!OtherThreadsSleep() && BootNow() < end) std::this_thread::yield();
  return fork();
}

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_QUIET_FORK_FIXTURE_H_

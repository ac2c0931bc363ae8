// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_COMMANDS_HEALTH_H_
#define ZKRECIPES_TOOLS_ZKR_COMMANDS_HEALTH_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"

namespace zkrecipes::zkr::commands {

// Checks CMD by --probe: runs that shell command again and again, and calls back each time that it
// succeeds (exit status 0). It runs as zkr's child, in a process group of its own, without stdin
// and stdout, and is killed when it takes too long.
class Health {
 public:
  struct Options {
    std::string command;                   // for `sh -c`
    std::vector<std::string> environment;  // NAME=VALUE, added to zkr's
    absl::Duration alive_within;           // it runs four times in this time, half of it at most
  };
  // `succeeded` is called on a thread of its own.
  Health(Options options, std::function<void()> succeeded);
  // Kills a run that goes on.
  ~Health() = default;

  // Half of the time has passed since the beginning, or the last success. Thread-safe.
  bool InDoubt() const;

 private:
  void Run(const std::stop_token& end);

  const Options options_;
  const std::function<void()> succeeded_;
  std::atomic<std::int64_t> last_ns_;  // when it succeeded last
  std::jthread thread_;                // last: it uses the others
};

}  // namespace zkrecipes::zkr::commands

#endif  // ZKRECIPES_TOOLS_ZKR_COMMANDS_HEALTH_H_

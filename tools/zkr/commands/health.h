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
// succeeds (exit status 0). It runs below a process of its own (RunProbe), without stdin and
// stdout, and is killed when it takes too long, with all that it has started.
class Health {
 public:
  struct Options {
    std::string command;                   // for `sh -c`
    std::vector<std::string> environment;  // NAME=VALUE, added to zkr's
    absl::Duration alive_within;           // it runs four times in this time, half of it at most
    std::string zkr = "/proc/self/exe";
  };
  // `succeeded` is called on a thread of its own.
  Health(Options options, std::function<void()> succeeded);
  // Without a thread CMD must not be run.
  bool valid() const { return thread_.joinable(); }
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

// A probe's process: zkr itself under this name, started anew. It is the subreaper of the shell
// that runs `command`, so that nothing that is started in it escapes by a session of its own. It
// ends with the shell and as the shell did, by SIGTERM, with zkr or with CMD's tree (by SIGPWR),
// once the rest is dead (what cannot be killed is left after a second). What the shell says goes to
// stderr, as far as that takes it at once.
inline constexpr char kProbeName[] = "lock-probe";
int RunProbe(std::string command);

}  // namespace zkrecipes::zkr::commands

#endif  // ZKRECIPES_TOOLS_ZKR_COMMANDS_HEALTH_H_

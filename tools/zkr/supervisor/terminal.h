// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_TERMINAL_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_TERMINAL_H_

#include <sys/types.h>
#include <termios.h>

#include <optional>

#include "lib/base/unique_fd.h"

namespace zkrecipes::zkr::supervisor {

// The controlling terminal of this process. If there is none, every call does nothing and returns
// false or 0. Survives a fork: the child has the same terminal.
// REQUIRES: SIGTTOU is blocked; otherwise a call from the background stops the process.
class Terminal {
 public:
  static Terminal OpenControlling();

  // The process group that reads and gets Ctrl-C. Process groups are as this PID namespace numbers
  // them: one of another namespace is 0, and 0 is also the answer where there is no terminal.
  pid_t Foreground() const;
  void SetForeground(pid_t group) const;

  // If the foreground group has no process any more, not even a zombie, makes `group` the
  // foreground group. True if it was so, and `group` exists.
  bool ReclaimFromTheDead(pid_t group) const;

  // Echo, line mode and so on, which a killed command may leave in disorder.
  void SaveModes();
  void RestoreModes() const;  // to the last SaveModes, if any

 private:
  base::UniqueFd fd_;
  std::optional<termios> modes_;
};

}  // namespace zkrecipes::zkr::supervisor

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_TERMINAL_H_

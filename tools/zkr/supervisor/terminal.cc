// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace zkrecipes::zkr::supervisor {

Terminal Terminal::OpenControlling() {
  Terminal terminal;
  // Not stdin: it may be a file or a pipe while the user sits at the terminal.
  terminal.fd_ = base::UniqueFd(open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  return terminal;
}

pid_t Terminal::Foreground() const { return fd_.valid() ? std::max(0, tcgetpgrp(fd_.get())) : 0; }

void Terminal::SetForeground(pid_t group) const {
  if (fd_.valid()) tcsetpgrp(fd_.get(), group);
}

bool Terminal::ReclaimFromTheDead(pid_t group) const {
  const pid_t foreground = Foreground();
  // A zombie still counts: its parent, the shell, takes the terminal back by itself.
  const bool dead = foreground > 1 && kill(-foreground, 0) != 0 && errno == ESRCH;
  return dead && tcsetpgrp(fd_.get(), group) == 0;
}

void Terminal::SaveModes() {
  termios modes{};
  if (fd_.valid() && tcgetattr(fd_.get(), &modes) == 0) modes_ = modes;
}

void Terminal::RestoreModes() const {
  // Not TCSADRAIN: that would block for ever on a terminal stopped by Ctrl-S.
  if (modes_) tcsetattr(fd_.get(), TCSANOW, &*modes_);
}

}  // namespace zkrecipes::zkr::supervisor

// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/diagnostic.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

#include "absl/strings/str_cat.h"

#include "lib/base/unique_fd.h"

namespace zkrecipes::zkr::supervisor {
namespace {

std::string Plain(const std::string& message, const std::string& /*code*/) {
  return absl::StrCat("zkr: ", message, "\n");
}

std::atomic<DiagnosticForm> form = Plain;
std::atomic<int> dropped = 0;

// False if not all of it was taken.
bool WriteAtOnce(const std::string& line) {
  const auto whole = [&line](ssize_t written) { return written == std::ssize(line); };
  struct stat about = {};
  if (fstat(STDERR_FILENO, &about) != 0) return false;
  if (S_ISSOCK(about.st_mode)) {
    return whole(send(STDERR_FILENO, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
  }
  // A file is always written; opened anew it would be written from its beginning.
  if (!S_ISFIFO(about.st_mode) && !S_ISCHR(about.st_mode)) {
    return whole(write(STDERR_FILENO, line.data(), line.size()));
  }
  // O_NONBLOCK on stderr itself would be CMD's and the shell's, too, so it is opened anew.
  const base::UniqueFd own(open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (own.valid()) return whole(write(own.get(), line.data(), line.size()));
  // Another user's, as after `sudo -u`. Another writer could take the room in between, but only
  // where stderr is nearly full.
  pollfd room{STDERR_FILENO, POLLOUT, 0};
  if (poll(&room, 1, 0) <= 0 || (room.revents & POLLOUT) == 0) return false;
  return whole(write(STDERR_FILENO, line.data(), line.size()));
}

}  // namespace

void SetDiagnosticForm(DiagnosticForm chosen) { form = chosen; }

void Diagnose(const std::string& message, const std::string& code) {
  const int before = dropped.exchange(0);
  const bool told =
      before == 0 ||
      WriteAtOnce(form.load()(absl::StrCat(before, " messages were dropped: stderr was full"), ""));
  if (!told) dropped += before;
  if (!told || !WriteAtOnce(form.load()(message, code))) ++dropped;
}

}  // namespace zkrecipes::zkr::supervisor

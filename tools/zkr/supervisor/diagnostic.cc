// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/diagnostic.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <climits>

#include "absl/strings/str_cat.h"

#include "lib/base/unique_fd.h"

namespace zkrecipes::zkr::supervisor {
namespace {

std::string Plain(const std::string& message, const std::string& /*code*/) {
  return absl::StrCat("zkr: ", message, "\n");
}

std::atomic<DiagnosticForm> form = Plain;
std::atomic<int> dropped = 0;
std::atomic<bool> torn = false;  // the last line was taken in part

// A pipe takes so much as a whole or not at all, also beside other writers. The end of a longer
// message is left out.
std::string LineOf(std::string message, const std::string& code) {
  for (;;) {
    std::string line = form.load()(message, code);
    if (line.size() < PIPE_BUF || message.size() < 8) return line;
    // At a character's border.
    std::size_t end = message.size() / 2;
    while (end > 0 && (message[end] & 0xc0) == 0x80) --end;
    message = message.substr(0, end) + "...";
  }
}

// A pipe of another user's, which cannot be opened anew: from a pipe of our own the kernel moves
// the line over without waiting, whatever the flags of the other end are.
ssize_t Splice(const std::string& line) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
  const base::UniqueFd out(ends[0]), in(ends[1]);
  const ssize_t size = write(in.get(), line.data(), line.size());
  if (size < 0) return -1;
  return splice(out.get(), nullptr, STDERR_FILENO, nullptr, static_cast<std::size_t>(size),
                SPLICE_F_NONBLOCK);
}

// As write(2), but never waits for room.
ssize_t WriteNow(const std::string& line) {
  struct stat about = {};
  if (fstat(STDERR_FILENO, &about) != 0) return -1;
  if (S_ISSOCK(about.st_mode)) {
    return send(STDERR_FILENO, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  // A file is always written; opened anew it would be written from its beginning.
  if (!S_ISFIFO(about.st_mode) && !S_ISCHR(about.st_mode)) {
    return write(STDERR_FILENO, line.data(), line.size());
  }
  const base::UniqueFd own = OpenAnew(STDERR_FILENO);
  if (!own.valid() && S_ISFIFO(about.st_mode)) return Splice(line);
  return own.valid() ? write(own.get(), line.data(), line.size()) : -1;
}

}  // namespace

base::UniqueFd OpenAnew(int fd) {
  const auto open_it = [](const std::string& name) {
    return base::UniqueFd(open(name.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  };
  base::UniqueFd own = open_it(absl::StrCat("/proc/self/fd/", fd));
  // Another user's, as after `sudo -u`: a process may always open its own terminal.
  if (!own.valid() && tcgetsid(fd) == getsid(0)) own = open_it("/dev/tty");
  return own;
}

bool WriteAtOnce(const std::string& text) {
  // What was begun by another line is no part of this one.
  const std::string begin = torn.exchange(false) ? "\n" : "";
  const ssize_t written = WriteNow(begin + text);
  const bool whole = written == std::ssize(begin) + std::ssize(text);
  if (!whole && (written > 0 || !begin.empty())) torn = true;
  return whole;
}

void SetDiagnosticForm(DiagnosticForm chosen) { form = chosen; }

void Diagnose(const std::string& message, const std::string& code) {
  const int before = dropped.exchange(0);
  const bool told =
      before == 0 ||
      WriteAtOnce(LineOf(absl::StrCat(before, " messages were dropped: stderr was full"), ""));
  if (!told) dropped += before;
  if (!told || !WriteAtOnce(LineOf(message, code))) ++dropped;
}

}  // namespace zkrecipes::zkr::supervisor

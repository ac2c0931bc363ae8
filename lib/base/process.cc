// SPDX-License-Identifier: Apache-2.0

#include "lib/base/process.h"

#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <string>

namespace zkrecipes::base {
namespace {

using Number = std::atomic<uint64_t>;

// In memory that the kernel hands to a child as zeros. Null on a kernel before 4.14.
Number* WipedOnFork() {
  void* const page =
      mmap(nullptr, sizeof(Number), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED || madvise(page, sizeof(Number), MADV_WIPEONFORK) != 0) return nullptr;
  return new (page) Number(0);
}

}  // namespace

// Asked first, since stderr's flags are shared with other processes, and a reader that is gone
// (POLLERR or POLLHUP, too) would end the program by SIGPIPE. A pipe that has room takes a line of
// up to 4 KiB at once.
bool TellOnStderr(const char* what) {
  pollfd to{STDERR_FILENO, POLLOUT, 0};
  if (poll(&to, 1, 0) != 1 || to.revents != POLLOUT) return false;
  const std::string line = std::string("zkrecipes: ") + what + "\n";
  return write(STDERR_FILENO, line.data(), line.size()) > 0;
}

uint64_t HomeProcess::ThisProcess() {
  static Number* const wiped = WipedOnFork();
  static Number last{0};  // a child inherits it, and counts on
  // Without such memory a child that has its parent's process id, in another PID namespace, is not
  // told apart.
  if (wiped == nullptr) return static_cast<uint64_t>(getpid());
  uint64_t number = wiped->load();
  if (number != 0) return number;
  // This process is the first, or a new child. Counted before any thread may have the number: a
  // child that is forked amid this must count on from it.
  const uint64_t next = ++last;
  return wiped->compare_exchange_strong(number, next) ? next : number;
}

}  // namespace zkrecipes::base

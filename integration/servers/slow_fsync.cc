// SPDX-License-Identifier: Apache-2.0
// Preloaded into a server: its fsyncs take as many milliseconds longer as a file says that
// ZKRECIPES_FSYNC_DELAY names. No file: none.

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace {

long DelayInMilliseconds() {
  const char* path = getenv("ZKRECIPES_FSYNC_DELAY");  // NOLINT(concurrency-mt-unsafe)
  const int fd = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[16] = {};
  const ssize_t n = read(fd, text, sizeof(text) - 1);
  close(fd);
  return n > 0 ? strtol(text, nullptr, 10) : 0;
}

void Wait() {
  const int kept = errno;
  const long delay = DelayInMilliseconds();
  timespec left{delay / 1000, delay % 1000 * 1'000'000};
  while (delay > 0 && nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
  errno = kept;
}

}  // namespace

extern "C" int fsync(int fd) {
  Wait();
  return static_cast<int>(syscall(SYS_fsync, fd));
}

extern "C" int fdatasync(int fd) {
  Wait();
  return static_cast<int>(syscall(SYS_fdatasync, fd));
}

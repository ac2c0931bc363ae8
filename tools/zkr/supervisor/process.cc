// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace zkr {

Pipe ClosingPipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return {};
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

void DetachStandardStreams(std::initializer_list<int> streams) {
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) return;
  for (const int fd : streams) dup2(null.get(), fd);
}

void OccupyStandardStreams() {
  int fd = 0;
  do {
    fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) close(fd);
}

void AddToEnvironment(const std::string& variables) {
  for (std::size_t begin = 0; begin < variables.size();) {
    const std::size_t end = variables.find('\0', begin);
    const std::string variable = variables.substr(begin, end - begin);
    const std::size_t equals = variable.find('=');
    setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 1);
    begin = end + 1;
  }
}

}  // namespace zkr

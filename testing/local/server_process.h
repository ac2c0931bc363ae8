// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_LOCAL_SERVER_PROCESS_H_
#define ZKRECIPES_TESTING_LOCAL_SERVER_PROCESS_H_

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace zkrecipes::testing {

// One child process, or none. Until it is reaped here its pid belongs to nobody else, so a signal
// cannot hit a stranger. Not thread-safe. The destructor kills.
class ServerProcess {
 public:
  ServerProcess() = default;
  ~ServerProcess() { Kill(); }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Takes charge of a child. REQUIRES: pid() == 0.
  void Adopt(pid_t child) { pid_ = child; }

  // The child's pid, 0 if there is none or it has ended.
  pid_t pid();
  bool paused() const { return paused_; }

  // REQUIRES: pid() != 0.
  void Pause();
  void Resume();

  // Sends SIGTERM and waits; after `patience` SIGKILL. False if that was needed.
  bool Terminate(absl::Duration patience);
  void Kill();

 private:
  bool WaitForEnd(absl::Duration timeout);

  pid_t pid_ = 0;
  bool paused_ = false;
};

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_SERVER_PROCESS_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_FAULTS_CLIENTS_H_
#define ZKRECIPES_VERIFICATION_FAULTS_CLIENTS_H_

#include <sys/types.h>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "integration/servers/command.h"

namespace zkrecipes::faults {

using servers::Host;

// The processes that use the library, and that things can be done to. Numbered from 0.
class Clients {
 public:
  virtual ~Clients() = default;

  virtual int size() const = 0;
  virtual Host host(int i) const = 0;
  virtual absl::Duration session_timeout() const = 0;

  virtual absl::Status Kill(int i) = 0;   // SIGKILL; one that is dead stays so
  virtual absl::Status Start(int i) = 0;  // a new process in its place; nothing if it lives
  virtual absl::Status Pause(int i) = 0;  // SIGSTOP
  virtual absl::Status Resume(int i) = 0;
  // Its wall clock (not the one that counts from the machine's start) is off by this much.
  virtual absl::Status SetClock(int i, absl::Duration offset) = 0;
};

}  // namespace zkrecipes::faults

#endif  // ZKRECIPES_VERIFICATION_FAULTS_CLIENTS_H_

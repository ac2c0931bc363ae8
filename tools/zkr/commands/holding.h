// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_COMMANDS_HOLDING_H_
#define ZKRECIPES_TOOLS_ZKR_COMMANDS_HOLDING_H_

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "tools/zkr/commands/commands.h"
#include "tools/zkr/commands/narrator.h"
#include "tools/zkr/result.h"
#include "tools/zkr/supervisor/supervisor.h"
#include "zkrecipes/acquire_options.h"
#include "zkrecipes/client.h"
#include "zkrecipes/lease.h"

namespace zkrecipes::zkr::commands {

// The client and the lease under which zkr runs CMD. Not thread-safe.
struct Holding {
  std::shared_ptr<Client> client;
  std::unique_ptr<OutageNotice> outages;  // of the client
  std::optional<Lease> lease;
  bool in_a_hurry = false;  // the lock is lost, or a signal came when CMD had ended
};

// A client for leases, as Connect makes it. `at_most` nullopt: the session timeout.
absl::Status Join(const GlobalFlags& global, std::stop_token cancel, Holding& holding,
                  std::optional<absl::Duration> at_most = {});

// For the acquire: see --probe.
AcquireOptions OptionsOf(const CommandFlags& flags);

// Runs CMD under the lease that is held; says on stderr if it was lost or CMD cannot be run.
supervisor::Outcome RunCommand(supervisor::Supervisor& supervisor, const CommandFlags& flags,
                               Holding& holding);

// Calls `wait` with a token that a signal stops, such as Ctrl-C.
struct Waited {
  absl::Status status;
  int signal = 0;  // that came meanwhile; 0: none
};
Waited WaitInterruptibly(const std::function<absl::Status(const std::stop_token&)>& wait);
// Goes on, deaf to signals, where they cannot be watched for: a machine that is short of threads or
// descriptors must not leave a node in the others' way, nor a line unsaid.
Waited WaitInAnyCase(const std::function<absl::Status(const std::stop_token&)>& wait);

// Each takes at most `at_most`: after that the session has expired anyway. `was_lost`: the lease is
// known to be lost, so a failure to release it is not worth a message. Returns a signal that came
// meanwhile, 0 if none: it ends this wait and those that follow, and the node goes with its
// session.
int Release(Holding& holding, absl::Duration at_most, bool was_lost);
int LetGo(Holding& holding, absl::Duration at_most, bool was_lost);  // and closes the client

// How `zkr lock` or `zkr elect` ended. `signal`, `typed`: see EndBy.
struct Ended {
  Result result;
  int signal = 0;
  bool typed = false;
};

// With CMD, or by a signal that came `later`, while its lock was let go; 0: none.
Ended EndedBy(const supervisor::Outcome& outcome, std::int64_t token, int later);

// Writes the result to `status_fd` (-1: nowhere) and returns the exit status, unless it ends this
// process by the signal.
int EndAs(const Ended& ended, int status_fd);

// The frame of such a command: prepares the guard while this process has one thread, calls `hold`,
// writes the result to the --status-fd and returns the exit status. `held` and `again`: see
// Command.
int RunGuarded(const CommandFlags& flags, const std::string& held, bool again,
               const std::function<Ended(supervisor::Supervisor&)>& hold);

}  // namespace zkrecipes::zkr::commands

#endif  // ZKRECIPES_TOOLS_ZKR_COMMANDS_HOLDING_H_

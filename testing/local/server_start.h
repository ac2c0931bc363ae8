// SPDX-License-Identifier: Apache-2.0
//
// How the servers of an ensemble are started, as children of this process (LocalEnsemble) or as
// daemons that outlive it (`zkr ensemble start`).

#ifndef ZKRECIPES_TESTING_LOCAL_SERVER_START_H_
#define ZKRECIPES_TESTING_LOCAL_SERVER_START_H_

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "testing/local/quorum.h"
#include "testing/local/server_files.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::testing {

// InvalidArgument that names the first option out of range and its rule. No I/O.
absl::Status CheckOptions(const LocalEnsembleOptions& options);

// FailedPrecondition, with the names of Debian's packages, if there is no Java or no ZooKeeper
// here.
absl::Status CheckInstalled(const LocalEnsembleOptions& options);

// Starts one server's process, whose files are there. `group`: see SpawnOptions.
absl::StatusOr<pid_t> LaunchServer(const LocalEnsembleOptions& options, const ServerSpec& spec,
                                   std::optional<pid_t> group);

// The processes of one ensemble.
class ServerProcesses {
 public:
  virtual ~ServerProcesses() = default;

  // Writes the servers' files and launches those that do not run.
  virtual absl::Status Launch(const std::vector<ServerSpec>& specs) = 0;
  // Unavailable if a server that was launched cannot serve any more.
  virtual absl::Status Check(const ServerSpec& spec) = 0;
  virtual bool CanAnswer(const ServerSpec& spec) = 0;  // its process runs
  virtual void EndAll() = 0;
};

// Blocks up to half a second for each server that runs and does not answer.
QuorumView Look(const std::vector<ServerSpec>& specs, ServerProcesses& processes);

// Waits until what `look` sees `holds`. Its errors, and DeadlineExceeded with the end of the log of
// a server that does not serve.
absl::Status WaitForServers(const std::vector<ServerSpec>& specs,
                            const std::function<absl::StatusOr<QuorumView>()>& look,
                            bool (QuorumView::*holds)() const, absl::Duration timeout);

// Launches the servers and waits until all of them serve.
//   DeadlineExceeded, Unavailable   as for LocalEnsemble::Start
absl::Status StartServers(const LocalEnsembleOptions& options, const std::vector<ServerSpec>& specs,
                          ServerProcesses& processes);

// Starts servers with new files on free ports; on others, some times, if one of these is taken in
// the meantime. After an error no process is left, but the files of the last attempt are.
absl::StatusOr<std::vector<ServerSpec>> StartNewServers(const LocalEnsembleOptions& options,
                                                        const std::string& directory,
                                                        ServerProcesses& processes);

// An Unavailable to return from Check: "the server at <address> <what>", and the end of its log.
absl::Status CannotServe(const ServerSpec& spec, const std::string& what);

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_SERVER_START_H_

// SPDX-License-Identifier: Apache-2.0
//
// What can be done with the servers of a detached ensemble, which are nobody's children.

#ifndef ZKRECIPES_TESTING_LOCAL_RECORDED_SERVERS_H_
#define ZKRECIPES_TESTING_LOCAL_RECORDED_SERVERS_H_

#include <string>

#include "absl/status/status.h"

#include "testing/local/quorum.h"
#include "testing/local/state_file.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::testing {

bool Runs(const RecordedServer& server);

// Blocks up to half a second per server that runs and does not answer.
QuorumView LookAt(const EnsembleState& state);

// Starts those that do not run, as daemons. Each pid is written down at once, in the state file of
// `directory`: whoever comes next finds the servers even if this process dies on the way.
absl::Status LaunchMissing(const LocalEnsembleOptions& options, const std::string& directory,
                           EnsembleState& state);

// Errors: as for LocalEnsemble::Start.
absl::Status WaitForAll(const LocalEnsembleOptions& options, const EnsembleState& state);

// SIGTERM, after ten seconds SIGKILL. Returns how many ran.
int EndAll(const EnsembleState& state);

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_RECORDED_SERVERS_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_LOCAL_SERVER_COMMAND_H_
#define ZKRECIPES_TESTING_LOCAL_SERVER_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "testing/local/server_files.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::testing {

// The command that runs one server. FailedPrecondition, with the names of Debian's packages, if
// there is no Java or no ZooKeeper here.
absl::StatusOr<std::vector<std::string>> ServerCommand(const LocalEnsembleOptions& options,
                                                       const ServerSpec& spec);

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_SERVER_COMMAND_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_COMMANDS_READ_PARTITIONS_H_
#define ZKRECIPES_TOOLS_ZKR_COMMANDS_READ_PARTITIONS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"

#include "tools/zkr/partitions.h"
#include "zkrecipes/client.h"
#include "zkrecipes/wait_options.h"

namespace zkrecipes::zkr::commands {

// The members and the owners below `path`; nullopt if it is no path of Partitions, or the members
// or the names may not be listed. Blocks for five round trips at most, in the last of which are a
// request for each partition and each contender. `wait` is of each of them. Errors: those of
// ListContenders; a partition whose queue alone may not be read is unknown.
absl::StatusOr<std::optional<PartitionsView>> ReadPartitions(Client& client,
                                                             const std::string& path,
                                                             const WaitOptions& wait);

}  // namespace zkrecipes::zkr::commands

#endif  // ZKRECIPES_TOOLS_ZKR_COMMANDS_READ_PARTITIONS_H_

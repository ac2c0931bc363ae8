// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_COMMANDS_EPOCH_H_
#define ZKRECIPES_TOOLS_ZKR_COMMANDS_EPOCH_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

#include "zkrecipes/client.h"
#include "zkrecipes/fencing_pass.h"

namespace zkrecipes::zkr::commands {

// The ensemble's epoch (lib/session/epoch_record.h), as the client's server knows it: all that was
// committed before its session began. Blocks. FailedPrecondition: the record is no number;
// PermissionDenied; as AskUntilAnswered.
absl::StatusOr<std::int64_t> AskEpoch(Client& client, const WaitOptions& wait);

// Makes the epoch higher than it is, and than `above`: by one than both, unless somebody else
// raises it at the same time; returns it. Every write names the version that was read, so the epoch
// never goes down. The record is created with its parent if there is none: all may read it, and
// only the client's users may write it, or all if it has none. Errors: as AskEpoch;
// InvalidArgument: there is no higher number.
absl::StatusOr<std::int64_t> RaiseEpoch(Client& client, std::int64_t above,
                                        const WaitOptions& wait);

// "TOKEN" or "TOKEN@EPOCH": what a resource has seen. InvalidArgument for anything else.
absl::StatusOr<FencingPass> ParseSeen(const std::string& text);

}  // namespace zkrecipes::zkr::commands

#endif  // ZKRECIPES_TOOLS_ZKR_COMMANDS_EPOCH_H_

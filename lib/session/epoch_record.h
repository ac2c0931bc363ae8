// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_EPOCH_RECORD_H_
#define ZKRECIPES_LIB_SESSION_EPOCH_RECORD_H_

#include <cstdint>

#include "absl/status/statusor.h"

#include "lib/zk/seam/types.h"

namespace zkrecipes::session {

// The node in which an ensemble's operators count how often it was set back to an older state
// (docs/adr/0035): a decimal number. One for the whole ensemble, outside every namespace, since a
// backup restores them all. No such node: 0.
inline constexpr char kEpochParent[] = "/zkrecipes";
inline constexpr char kEpochPath[] = "/zkrecipes/epoch";

// What the answer to a Get of kEpochPath says. FailedPrecondition if the node holds anything but a
// number; the error of a server that does not show it. Never 0 for what is not known.
absl::StatusOr<int64_t> EpochIn(const zk::Reply& reply);

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_EPOCH_RECORD_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_EPOCH_RECORD_H_
#define ZKRECIPES_LIB_SESSION_EPOCH_RECORD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "lib/zk/seam/types.h"
#include "zkrecipes/epoch_options.h"

namespace zkrecipes::session {

// The node in which an ensemble's operators count how often it was set back to an older state
// (docs/adr/0035): a decimal number. One for the whole ensemble, outside every namespace, since a
// backup restores them all. No such node: 0.
inline constexpr char kEpochParent[] = "/zkrecipes";
inline constexpr char kEpochPath[] = "/zkrecipes/epoch";

// The highest epoch that is believed of a record whose data has this version: it may grow by 1000
// each time that it is written (docs/adr/0059). A function of the record alone, so that no two
// clients disagree; and however often a stranger writes, there is a higher one.
constexpr int64_t kMostPerWrite = 1000;
constexpr int64_t MostEpochOf(int32_t version) { return kMostPerWrite * (int64_t{version} + 1); }

// What the answer to a Get of kEpochPath says. FailedPrecondition if the node holds anything but a
// number, or a higher one than MostEpochOf; the error of a server that does not show it. Never 0
// for what is not known.
absl::StatusOr<int64_t> EpochIn(const zk::Reply& reply);

// Answers to requests that were sent in this order on one connection: the two of GetAcl only if
// EpochOptions::writers has any. As they were read before the data, and never changed, they were in
// force when it was written.
struct EpochAnswers {
  zk::Reply parent_acl{};
  zk::Reply record_acl{};
  zk::Reply record{};
};
// They went with their connection, and are asked for on the next one. The last is lost if any is.
// A server's own error is an answer: asked again behind it, the epoch could be one that began after
// a node that was created in between.
bool LostWithConnection(const EpochAnswers& answers);
// As EpochIn; FailedPrecondition if others than `writers` can have written the record.
absl::StatusOr<int64_t> BelievedEpoch(const EpochAnswers& answers,
                                      const std::vector<std::string>& writers);

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_EPOCH_RECORD_H_

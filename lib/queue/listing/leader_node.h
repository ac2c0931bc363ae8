// SPDX-License-Identifier: Apache-2.0
//
// The data of a candidate's node: its id alone, or "id\nvalue". Other libraries show it as a raw
// id.

#ifndef ZKRECIPES_LIB_QUEUE_LISTING_LEADER_NODE_H_
#define ZKRECIPES_LIB_QUEUE_LISTING_LEADER_NODE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include "lib/queue/listing/queue_listing.h"
#include "zkrecipes/leader.h"

namespace zkrecipes::queue::listing {

// InvalidArgument names the rule that is broken. REQUIRES: `id` already has its default.
absl::Status CheckCandidate(const Candidate& candidate);
absl::Status CheckValue(const std::string& value);

std::string CandidateData(absl::string_view id, absl::string_view value);
// Accepts any data: the first line break separates id and value.
Candidate ParseCandidate(const std::string& data);

Leader DescribeLeader(const machine::ListedNode& node);

}  // namespace zkrecipes::queue::listing

#endif  // ZKRECIPES_LIB_QUEUE_LISTING_LEADER_NODE_H_

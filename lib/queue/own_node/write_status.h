// SPDX-License-Identifier: Apache-2.0
//
// What the caller of a write of a lease's own node is told.

#ifndef ZKRECIPES_LIB_QUEUE_OWN_NODE_WRITE_STATUS_H_
#define ZKRECIPES_LIB_QUEUE_OWN_NODE_WRITE_STATUS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

#include "lib/queue/machine/own_node_write.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::own_node {

// `what` begins the message; `ops` and `node` have the server's paths, the message the user's.
absl::Status DescribeWrite(const zk::Namespace& name_space, const std::string& what,
                           const std::vector<zk::Multi::Op>& ops, const std::string& node,
                           const machine::WriteResult& result);

// Says, in the message and for MayBeWritten, that it is not known whether anything was written.
absl::Status WithUncertainty(const absl::Status& status);
bool IsUncertain(const absl::Status& status);

}  // namespace zkrecipes::queue::own_node

#endif  // ZKRECIPES_LIB_QUEUE_OWN_NODE_WRITE_STATUS_H_

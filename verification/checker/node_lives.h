// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_CHECKER_NODE_LIVES_H_
#define ZKRECIPES_VERIFICATION_CHECKER_NODE_LIVES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "verification/checker/transaction_log.h"

namespace zkrecipes::history {

// One node from its creation to its end, as ZooKeeper's own order has it.
struct NodeLife {
  std::string path;
  int64_t czxid = 0;
  int64_t created_ms = 0;    // wall clock
  int64_t session = 0;       // that it goes with; 0: with none
  int64_t parent_czxid = 0;  // which incarnation of the parent; 0: one from before the log
  int64_t gone_zxid = 0;     // 0: it is still there
  int64_t gone_ms = 0;       // wall clock
};

// In the order of their czxids. Nodes from before the first transaction are not known.
std::vector<NodeLife> LivesOf(const std::vector<Transaction>& transactions);

std::string ParentOf(const std::string& path);

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_CHECKER_NODE_LIVES_H_

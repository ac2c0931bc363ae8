// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_CHECKER_QUEUE_LOG_H_
#define ZKRECIPES_VERIFICATION_CHECKER_QUEUE_LOG_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "verification/checker/chronicle.h"
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
  int64_t gone_ms = kNever;  // wall clock

  bool operator==(const NodeLife&) const = default;
};

std::string ParentOf(const std::string& path);

// A contender's node in ZooKeeper's log.
struct QueuedNode {
  const NodeLife* life = nullptr;
  int32_t number = 0;
  bool reader = false;
  int64_t all_gone_ms = 0;  // by then it and all before it in its line were gone; kNever
};

// The queues as ZooKeeper's log has them. The judge's own reading: it shares the grammar of names
// with what is judged, and nothing else.
class QueueLog {
 public:
  using Line = std::vector<QueuedNode>;  // of one incarnation of a parent, by czxid

  explicit QueueLog(const std::vector<Transaction>& transactions);
  QueueLog(const QueueLog&) = delete;

  // Of all nodes, in the order of their czxids; those from before the first transaction are not
  // known.
  const std::vector<NodeLife>& lives() const { return lives_; }
  // The node that the attempt was granted by; null if the log has no such node. REQUIRES: granted()
  const QueuedNode* Find(const Attempt& attempt) const;
  const Line& LineOf(const QueuedNode& node) const;
  // By path.
  const std::map<std::string, std::vector<QueuedNode>>& nodes() const { return of_path_; }

 private:
  std::vector<NodeLife> lives_;
  std::map<std::string, std::vector<QueuedNode>> of_path_;
  std::map<std::pair<std::string, int64_t>, Line> lines_;
};

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_CHECKER_QUEUE_LOG_H_

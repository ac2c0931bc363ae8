// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_CHECKER_QUEUE_LOG_H_
#define ZKRECIPES_VERIFICATION_CHECKER_QUEUE_LOG_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "verification/checker/node_lives.h"
#include "verification/checker/story.h"

namespace zkrecipes::history {

// A contender's node in ZooKeeper's log.
struct Contender {
  const NodeLife* life = nullptr;
  int32_t number = 0;
  bool reader = false;
  int64_t all_gone_ms = 0;  // by then it and all before it in its line were gone; kNever
};

// The queues as ZooKeeper's log has them. The judge's own idea of them: of what is judged it takes
// the grammar of names and nothing else.
class QueueLog {
 public:
  using Line = std::vector<Contender>;  // of one incarnation of a parent, by czxid

  // `lives` must outlive it.
  explicit QueueLog(const std::vector<NodeLife>& lives);

  // kNever: the log is empty.
  int64_t first_zxid() const { return first_zxid_; }
  // The node that the attempt was granted by; null if the log has none such. REQUIRES: granted()
  const Contender* Find(const Attempt& attempt) const;
  const Line& LineOf(const Contender& contender) const;
  // By path.
  const std::map<std::string, std::vector<Contender>>& contenders() const { return of_path_; }

 private:
  std::map<std::string, std::vector<Contender>> of_path_;
  std::map<std::pair<std::string, int64_t>, Line> lines_;
  int64_t first_zxid_ = kNever;
};

// kNever: it is still there.
int64_t GoneMs(const NodeLife& life);

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_CHECKER_QUEUE_LOG_H_

// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/queue_log.h"

#include <algorithm>

#include "lib/queue/machine/node_name.h"

namespace zkrecipes::history {

int64_t GoneMs(const NodeLife& life) { return life.gone_zxid == 0 ? kNever : life.gone_ms; }

QueueLog::QueueLog(const std::vector<NodeLife>& lives) {
  if (!lives.empty()) first_zxid_ = lives.front().czxid;
  for (const NodeLife& life : lives) {
    const auto name = queue::ParseNodeName(life.path.substr(life.path.rfind('/') + 1));
    if (!name.has_value()) continue;
    Line& line = lines_[{ParentOf(life.path), life.parent_czxid}];
    const int64_t before = line.empty() ? 0 : line.back().all_gone_ms;
    line.push_back({&life, name->sequence, name->mode == queue::Mode::kShared,
                    std::max(before, GoneMs(life))});
    of_path_[life.path].push_back(line.back());
  }
}

const Contender* QueueLog::Find(const Attempt& attempt) const {
  const auto found = of_path_.find(attempt.grant->node);
  if (found == of_path_.end()) return nullptr;
  // A downgrade's token is not its node's: the last that had the name.
  if (attempt.IsDowngrade()) return &found->second.back();
  for (const Contender& contender : found->second) {
    if (contender.life->czxid == attempt.token()) return &contender;
  }
  return nullptr;
}

const QueueLog::Line& QueueLog::LineOf(const Contender& contender) const {
  return lines_.at({ParentOf(contender.life->path), contender.life->parent_czxid});
}

}  // namespace zkrecipes::history

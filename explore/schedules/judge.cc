// SPDX-License-Identifier: Apache-2.0

#include "explore/schedules/judge.h"

#include <algorithm>

#include "lib/queue/node_name.h"
#include "lib/zk/path.h"

namespace zkrecipes::explore::schedules {

using testing::memory::Transaction;

const char* NameOf(Rule rule) {
  switch (rule) {
    case Rule::kGrantedNotFirst:
      return "granted though never first";
    case Rule::kGrantedTwice:
      return "granted twice";
    case Rule::kForeignSession:
      return "believed in a foreign session";
    case Rule::kHeldAfterLoss:
      return "held after its loss";
    case Rule::kBelievedTooLong:
      return "believed too long";
    case Rule::kBothBelieved:
      return "two believed at once";
    case Rule::kNotTold:
      return "not told of a loss";
    case Rule::kBusyAlone:
      return "busy though nobody was there";
    case Rule::kUnexpectedAnswer:
      return "unexpected answer";
    case Rule::kAnsweredTwice:
      return "answered twice";
    case Rule::kNeverAnswered:
      return "never answered";
    case Rule::kNodeLeft:
      return "node left behind";
    case Rule::kWatchLeft:
      return "watch left behind";
    case Rule::kNotClosed:
      return "client not closed";
  }
  return "";
}

// Contenders of one incarnation of the queue are in the order of their czxids.
void Judge::Follow(const testing::memory::ModelEnsemble& ensemble) {
  const auto& history = ensemble.history();
  for (; read_ < history.size(); ++read_) {
    const Transaction& txn = history[read_];
    if (txn.kind == Transaction::Kind::kCreate && zk::ParentPath(txn.path) == queue_) {
      const auto name = queue::ParseNodeName(zk::NodeName(txn.path));
      if (!name.has_value()) continue;
      if (name->mode == queue::Mode::kShared) readers_.insert(txn.zxid);
      nodes_[txn.zxid] = txn.path;
      czxids_[txn.path] = txn.zxid;
      owners_[txn.zxid] = txn.node.owner;
    } else if (txn.kind == Transaction::Kind::kDelete) {
      const auto it = czxids_.find(txn.path);
      if (it == czxids_.end()) continue;
      if (txn.session == 0) deleted_by_operator_.insert(it->second);
      nodes_.erase(it->second);
      czxids_.erase(it);
    } else if (txn.kind == Transaction::Kind::kCloseSession) {
      std::erase_if(czxids_, [&](const auto& e) { return owners_[e.second] == txn.session; });
      std::erase_if(nodes_, [&](const auto& e) { return owners_[e.first] == txn.session; });
    }
    Admit();
  }
}

void Judge::Admit() {
  bool readers = true;
  for (auto it = nodes_.begin(); it != nodes_.end() && readers; ++it) {
    readers = IsReader(it->first);
    if (readers || it == nodes_.begin()) admitted_.insert(it->first);
  }
}

std::string Judge::BlockerOf(int64_t czxid) const {
  const auto own = nodes_.find(czxid);
  for (auto it = own; it != nodes_.begin();) {
    --it;
    if (!IsReader(czxid) || !IsReader(it->first)) return it->second;
  }
  return "";
}

bool Judge::CreatedByOthers(int64_t since, zk::SessionId session) const {
  return std::any_of(owners_.upper_bound(since), owners_.end(),
                     [session](const auto& entry) { return entry.second != session; });
}

zk::SessionId Judge::OwnerOf(int64_t czxid) const {
  const auto it = owners_.find(czxid);
  return it == owners_.end() ? 0 : it->second;
}

}  // namespace zkrecipes::explore::schedules

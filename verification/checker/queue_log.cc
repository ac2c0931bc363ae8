// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/queue_log.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "lib/queue/machine/node_name.h"

namespace zkrecipes::history {
namespace {

class Tree {
 public:
  void Apply(const Transaction& transaction) {
    for (const Transaction::Change& change : transaction.changes) {
      if (change.what == Transaction::Change::What::kCreated) {
        Create(transaction, change);
      } else {
        Delete(transaction, change.path);
      }
    }
    if (transaction.ends_session) EndSession(transaction);
  }

  std::vector<NodeLife> Take() && { return std::move(lives_); }

 private:
  void Create(const Transaction& transaction, const Transaction::Change& change) {
    Delete(transaction, change.path);  // only if the log has a gap
    NodeLife life{
        .path = change.path, .czxid = transaction.zxid, .created_ms = transaction.time_ms};
    const auto parent = there_.find(ParentOf(change.path));
    if (parent != there_.end()) life.parent_czxid = lives_[parent->second].czxid;
    if (change.ephemeral) {
      life.session = transaction.session;
      of_session_[life.session].insert(life.path);
    }
    there_[life.path] = lives_.size();
    lives_.push_back(std::move(life));
  }

  void Delete(const Transaction& transaction, const std::string& path) {
    const auto found = there_.find(path);
    if (found == there_.end()) return;
    NodeLife& life = lives_[found->second];
    life.gone_zxid = transaction.zxid;
    life.gone_ms = transaction.time_ms;
    if (life.session != 0) of_session_[life.session].erase(path);
    there_.erase(found);
  }

  // The record need not list the nodes, see Transaction.
  void EndSession(const Transaction& transaction) {
    const auto found = of_session_.find(transaction.session);
    if (found == of_session_.end()) return;
    for (const std::string& path : std::set(found->second)) Delete(transaction, path);
  }

  std::vector<NodeLife> lives_;
  std::map<std::string, std::size_t> there_;
  std::map<int64_t, std::set<std::string>> of_session_;
};

}  // namespace

std::string ParentOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

QueueLog::QueueLog(const std::vector<Transaction>& transactions) {
  Tree tree;
  for (const Transaction& transaction : transactions) tree.Apply(transaction);
  lives_ = std::move(tree).Take();
  for (const NodeLife& life : lives_) {
    const auto name = queue::machine::ParseNodeName(life.path.substr(life.path.rfind('/') + 1));
    if (!name.has_value()) continue;
    Line& line = lines_[{ParentOf(life.path), life.parent_czxid}];
    const int64_t before = line.empty() ? 0 : line.back().all_gone_ms;
    line.push_back({&life, name->sequence, name->mode == queue::machine::Mode::kShared,
                    std::max(before, life.gone_ms)});
    of_path_[life.path].push_back(line.back());
  }
}

const QueuedNode* QueueLog::Find(const Attempt& attempt) const {
  const auto found = of_path_.find(attempt.grant->node);
  if (found == of_path_.end()) return nullptr;
  // A downgrade's token is not its node's: the last that had the name.
  if (attempt.IsDowngrade()) return &found->second.back();
  for (const QueuedNode& node : found->second) {
    if (node.life->czxid == attempt.token()) return &node;
  }
  return nullptr;
}

const QueueLog::Line& QueueLog::LineOf(const QueuedNode& node) const {
  return lines_.at({ParentOf(node.life->path), node.life->parent_czxid});
}

}  // namespace zkrecipes::history

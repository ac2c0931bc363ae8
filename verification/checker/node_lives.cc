// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/node_lives.h"

#include <cstddef>
#include <map>
#include <set>
#include <utility>

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
    const std::set<std::string> paths = found->second;
    for (const std::string& path : paths) Delete(transaction, path);
    of_session_.erase(transaction.session);
  }

  std::vector<NodeLife> lives_;
  std::map<std::string, std::size_t> there_;
  std::map<int64_t, std::set<std::string>> of_session_;
};

}  // namespace

std::vector<NodeLife> LivesOf(const std::vector<Transaction>& transactions) {
  Tree tree;
  for (const Transaction& transaction : transactions) tree.Apply(transaction);
  return std::move(tree).Take();
}

std::string ParentOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

}  // namespace zkrecipes::history

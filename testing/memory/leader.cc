// SPDX-License-Identifier: Apache-2.0
//
// The leader of ModelEnsemble: checks and numbers writes against everything proposed before them.

#include <algorithm>

#include "absl/strings/str_format.h"

#include "lib/zk/seam/path.h"
#include "testing/memory/model_ensemble.h"
#include "testing/memory/tree.h"

namespace zkrecipes::testing::memory {
namespace {

// As Java's int does.
int32_t PlusOne(int32_t n) { return static_cast<int32_t>(static_cast<uint32_t>(n) + 1); }

}  // namespace

// Turns one client's write into a transaction, in the order of ZooKeeper's own checks.
struct ModelEnsemble::Preparation {
  const ModelEnsemble& model;
  const Connection& connection;
  const base::BootTime now;
  Transaction& txn;

  zk::Code operator()(const zk::Create& create) {
    const bool sequential = create.mode == zk::CreateMode::kEphemeralSequential;
    // A sequential node's own name may be nothing but the number.
    if (!IsFormatted(sequential ? create.path + "0" : create.path)) return zk::Code::kBadArguments;
    const std::string parent_path = zk::ParentPath(create.path);
    txn.node.acl = create.acl.empty() ? connection.acl : create.acl;
    if (!FixAcl(txn.node.acl, connection.digest_ids)) return zk::Code::kInvalidAcl;
    const Node* parent = model.prepared_.Find(parent_path);
    if (parent == nullptr) return zk::Code::kNoNode;
    if (!Allows(parent->acl, kMayCreate, connection.digest_ids)) return zk::Code::kNoAuth;
    const int32_t sequence = model.NextSequence(parent_path);
    txn.path = sequential ? create.path + absl::StrFormat("%010d", sequence) : create.path;
    if (model.prepared_.Find(txn.path) != nullptr) return zk::Code::kNodeExists;
    if (parent->owner != 0) return zk::Code::kNoChildrenForEphemerals;
    txn.kind = Transaction::Kind::kCreate;
    txn.parent_cversion = PlusOne(sequence);
    txn.node.data = create.data;
    txn.node.container = create.mode == zk::CreateMode::kContainer;
    const bool ephemeral = sequential || create.mode == zk::CreateMode::kEphemeral;
    txn.node.owner = ephemeral ? connection.session : 0;
    txn.node.ctime_ms = absl::ToInt64Milliseconds(now.since_boot());
    return zk::Code::kOk;
  }

  zk::Code operator()(const zk::Delete& del) {
    if (!IsFormatted(del.path)) return zk::Code::kBadArguments;
    const Node* parent = model.prepared_.Find(zk::ParentPath(del.path));
    if (parent == nullptr) return zk::Code::kNoNode;
    if (!Allows(parent->acl, kMayDelete, connection.digest_ids)) return zk::Code::kNoAuth;
    const Node* node = model.prepared_.Find(del.path);
    if (node == nullptr) return zk::Code::kNoNode;
    if (del.version != -1 && del.version != node->version) return zk::Code::kBadVersion;
    if (node->children > 0) return zk::Code::kNotEmpty;
    txn.kind = Transaction::Kind::kDelete;
    txn.path = del.path;
    return zk::Code::kOk;
  }

  zk::Code operator()(const zk::SetData& set) {
    if (!IsFormatted(set.path)) return zk::Code::kBadArguments;
    const Node* node = model.prepared_.Find(set.path);
    if (node == nullptr) return zk::Code::kNoNode;
    if (!Allows(node->acl, kMayWrite, connection.digest_ids)) return zk::Code::kNoAuth;
    if (set.version != -1 && set.version != node->version) return zk::Code::kBadVersion;
    txn.kind = Transaction::Kind::kSetData;
    txn.path = set.path;
    txn.node.data = set.data;
    return zk::Code::kOk;
  }

  template <typename Read>
  zk::Code operator()(const Read&) {
    return zk::Code::kUnimplemented;
  }
};

void ModelEnsemble::ProposeCall(ConnectionId id, Connection& connection, const wire::Call& call,
                                base::BootTime now) {
  Transaction txn{.session = connection.session, .connection = id, .call = call.id};
  ++connection.unapplied;
  const auto it = sessions_.find(connection.session);
  if (it == sessions_.end() || it->second.closing) {
    txn.error = zk::Code::kSessionExpired;
  } else if (it->second.owner >= 0 && it->second.owner != connection.server) {
    txn.error = zk::Code::kSessionMoved;
  } else {
    it->second.owner = connection.server;
    const auto* multi = std::get_if<zk::Multi>(&call.request);
    txn.error = multi != nullptr
                    ? PrepareMulti(connection, *multi, now, txn)
                    : std::visit(Preparation{*this, connection, now, txn}, call.request);
  }
  Propose(std::move(txn));
}

// Each operation is checked against what those before it leave behind; of all that nothing stays
// here, whether or not one of them is refused.
zk::Code ModelEnsemble::PrepareMulti(const Connection& connection, const zk::Multi& multi,
                                     base::BootTime now, Transaction& txn) {
  const Tree tree = prepared_;
  const std::map<std::string, int32_t> sequences = prepared_sequences_;
  zk::Code failed = zk::Code::kOk;
  for (const zk::Multi::Op& op : multi.ops) {
    Transaction part{.zxid = NextZxid(), .session = txn.session};
    if (failed == zk::Code::kOk) {
      failed = std::visit(Preparation{*this, connection, now, part}, op);
      txn.codes.push_back(failed);
      if (failed == zk::Code::kOk) Prepare(part);
      txn.parts.push_back(std::move(part));
    } else {
      txn.codes.push_back(zk::Code::kRuntimeInconsistency);
    }
  }
  prepared_ = tree;
  prepared_sequences_ = sequences;
  if (failed == zk::Code::kOk) {
    txn.kind = Transaction::Kind::kMulti;
  } else {
    txn.parts.clear();
  }
  return failed;
}

void ModelEnsemble::ProposeClose(zk::SessionId session, Session& state, ConnectionId origin) {
  state.closing = true;
  Propose({.kind = Transaction::Kind::kCloseSession, .session = session, .connection = origin});
}

// The number that a child of `parent` gets: what the proposals left, or else what the tree says.
int32_t ModelEnsemble::NextSequence(const std::string& parent) const {
  const auto it = prepared_sequences_.find(parent);
  return it != prepared_sequences_.end() ? it->second : prepared_.Find(parent)->cversion;
}

void ModelEnsemble::Propose(Transaction txn) {
  txn.zxid = NextZxid();
  ++counter_;
  if (txn.kind == Transaction::Kind::kMulti) {
    for (Transaction& part : txn.parts) Prepare(part);
  } else {
    Prepare(txn);
  }
  outstanding_.push_back(std::move(txn));
}

// Applies a transaction to the state that later ones are checked against.
void ModelEnsemble::Prepare(Transaction& txn) {
  using enum Transaction::Kind;
  if (txn.kind == kCreate) {
    txn.node.czxid = txn.node.mzxid = txn.node.pzxid = txn.zxid;
    prepared_sequences_[zk::ParentPath(txn.path)] = txn.parent_cversion;
    prepared_.Create(txn.path, txn.node, txn.parent_cversion);
  } else if (txn.kind == kDelete) {
    prepared_.Delete(txn.path, txn.zxid);
    prepared_sequences_.erase(txn.path);
  } else if (txn.kind == kSetData) {
    prepared_.SetData(txn.path, txn.node.data, txn.zxid);
  } else if (txn.kind == kSetAcl) {
    prepared_.SetAcl(txn.path, txn.node.acl);
  } else if (txn.kind == kCloseSession) {
    for (const std::string& path : prepared_.OwnedBy(txn.session)) {
      prepared_.Delete(path, txn.zxid);
    }
  }
}

void ModelEnsemble::LogOldestProposal() {
  Transaction& txn = outstanding_.front();
  if (txn.kind == Transaction::Kind::kOpenSession) {
    const auto it = sessions_.find(txn.session);
    if (it != sessions_.end()) it->second.open = true;
  } else if (txn.kind == Transaction::Kind::kCloseSession) {
    sessions_.erase(txn.session);
  }
  log_.push_back(std::move(txn));
  outstanding_.pop_front();
}

void ModelEnsemble::Commit() {
  LogOldestProposal();
  while (CanApply(leader_)) Apply(leader_);
  // The tree's own numbers count again as soon as no proposal leads on from them.
  std::erase_if(prepared_sequences_, [this](const auto& entry) {
    bool leads_on = false;
    for (const Transaction& proposed : outstanding_) {
      ForEachChange(proposed, [&](const Transaction& change) {
        leads_on |=
            change.kind == Transaction::Kind::kCreate && zk::ParentPath(change.path) == entry.first;
      });
    }
    return !leads_on;
  });
}

// ---- operators ----------------------------------------------------------------------------------

bool ModelEnsemble::OperatorDeletes(const std::string& path, base::BootTime /*now*/) {
  const Node* node = prepared_.Find(path);
  if (!HasQuorum() || !IsFormatted(path) || node == nullptr || node->children > 0) return false;
  Propose({.kind = Transaction::Kind::kDelete, .path = path});
  return true;
}

bool ModelEnsemble::OperatorCreates(const std::string& path, Node node, base::BootTime now) {
  if (!HasQuorum() || !IsFormatted(path) || prepared_.Find(path) != nullptr) return false;
  const Node* parent = prepared_.Find(zk::ParentPath(path));
  if (parent == nullptr || parent->owner != 0) return false;
  node.ctime_ms = absl::ToInt64Milliseconds(now.since_boot());
  Propose({.kind = Transaction::Kind::kCreate,
           .path = path,
           .node = std::move(node),
           .parent_cversion = PlusOne(NextSequence(zk::ParentPath(path)))});
  return true;
}

bool ModelEnsemble::OperatorChanges(const std::string& path, Transaction::Kind kind, Node node) {
  if (!HasQuorum() || prepared_.Find(path) == nullptr) return false;
  Propose({.kind = kind, .path = path, .node = std::move(node)});
  return true;
}

bool ModelEnsemble::OperatorSetsData(const std::string& path, const std::string& data) {
  return OperatorChanges(path, Transaction::Kind::kSetData, {.data = data});
}

bool ModelEnsemble::OperatorSetsAcl(const std::string& path, std::vector<zk::AclEntry> acl) {
  return OperatorChanges(path, Transaction::Kind::kSetAcl, {.acl = std::move(acl)});
}

// Whether the node is a container to be deleted, if it is as empty as now at `now`.
bool ModelEnsemble::IsReapable(const Node& node, base::BootTime now) const {
  if (!node.container || node.children > 0) return false;
  const absl::Duration longest = options_.traits.longest_unused_container;
  return node.cversion > 0 || (longest < absl::InfiniteDuration() &&
                               now.since_boot() - absl::Milliseconds(node.ctime_ms) > longest);
}

void ModelEnsemble::ReapContainers(base::BootTime now) {
  std::vector<std::string> empty;
  for (const auto& [path, node] : prepared_.nodes()) {
    if (IsReapable(node, now)) empty.push_back(path);
  }
  for (const std::string& path : empty) (void)OperatorDeletes(path, now);
}

void ModelEnsemble::SetNextSequence(const std::string& path, int32_t next) {
  prepared_sequences_.erase(path);
  prepared_.SetCversion(path, next);
  for (Server& server : servers_) server.tree.SetCversion(path, next);
}

}  // namespace zkrecipes::testing::memory

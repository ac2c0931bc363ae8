// SPDX-License-Identifier: Apache-2.0
//
// A server of ModelEnsemble applies transactions, and tells those whom they concern.

#include <algorithm>
#include <cassert>

#include "lib/zk/seam/path.h"
#include "testing/memory/model_ensemble.h"

namespace zkrecipes::testing::memory {

void ModelEnsemble::Apply(int number) {
  assert(CanApply(number));
  Server& server = servers_[Index(number)];
  const Transaction& txn = log_[server.applied - log_begin_];  // there until it is trimmed
  ++server.applied;
  server.zxid = txn.zxid;
  ForEachChange(txn, [&](const Transaction& change) { ApplyChange(number, change); });
  if (txn.kind == Transaction::Kind::kCloseSession) {
    ApplyClose(number, txn);
  } else {
    AnswerOrigin(number, txn);
  }
  TrimLog();
}

void ModelEnsemble::ApplyChange(int number, const Transaction& txn) {
  using enum Transaction::Kind;
  Server& server = servers_[Index(number)];
  if (txn.kind == kCreate) {
    server.tree.Create(txn.path, txn.node, txn.parent_cversion);
    Fire(number, txn.path, zk::WatchEvent::kNodeData);
    Fire(number, zk::ParentPath(txn.path), zk::WatchEvent::kChanged);
  } else if (txn.kind == kDelete) {
    ApplyDelete(number, txn.path, txn.zxid);
  } else if (txn.kind == kSetData) {
    server.tree.SetData(txn.path, txn.node.data, txn.zxid);
    Fire(number, txn.path, zk::WatchEvent::kNodeData);
  } else if (txn.kind == kSetAcl) {
    server.tree.SetAcl(txn.path, txn.node.acl);
  }
}

void ModelEnsemble::TrimLog() {
  if (options_.keep_history) return;
  size_t applied = LogEnd();
  for (const Server& server : servers_) applied = std::min(applied, server.applied);
  for (; log_begin_ < applied; ++log_begin_) log_.pop_front();
}

void ModelEnsemble::ApplyDelete(int number, const std::string& path, int64_t zxid) {
  servers_[Index(number)].tree.Delete(path, zxid);
  Fire(number, path, zk::WatchEvent::kDeleted);
  Fire(number, zk::ParentPath(path), zk::WatchEvent::kChanged);
}

// The session's own watches fire like all others, before its connection goes.
void ModelEnsemble::ApplyClose(int number, const Transaction& txn) {
  for (const std::string& path : tree(number).OwnedBy(txn.session)) {
    ApplyDelete(number, path, txn.zxid);
  }
  for (const ConnectionId id : connections()) {
    Connection& connection = connections_.at(id);
    if (connection.session != txn.session || connection.server != number) continue;
    // Whoever asked for it is answered first.
    if (id == txn.connection) connection.to_client.emplace_back(wire::Answer{0, txn.zxid, {}});
    DropUnread(id);
  }
}

void ModelEnsemble::Fire(int number, const std::string& path, zk::WatchEvent what) {
  for (auto& [id, connection] : connections_) {
    if (connection.server != number) continue;
    size_t fired = 0;
    for (const zk::WatchKind kind : {zk::WatchKind::kNode, zk::WatchKind::kExists}) {
      if (zk::Fires(what, kind)) fired += connection.watches.erase({path, kind});
    }
    if (fired > 0 && connection.client_open) {
      const int64_t zxid = options_.traits.zxid_in_events ? servers_[Index(number)].zxid : -1;
      connection.to_client.emplace_back(wire::Fired{path, what, zxid});
    }
  }
}

void ModelEnsemble::AnswerOrigin(int number, const Transaction& txn) {
  const auto it = connections_.find(txn.connection);
  if (it == connections_.end() || it->second.server != number || !it->second.server_open) return;
  Connection& connection = it->second;
  --connection.unapplied;
  if (txn.error == zk::Code::kSessionMoved) return DropUnread(it->first);
  if (!connection.client_open) return;
  if (txn.kind == Transaction::Kind::kOpenSession) {
    connection.to_client.emplace_back(
        wire::Welcome{txn.session, txn.timeout, options_.traits.says_it_is_keeper});
    return;
  }
  zk::Reply reply{.code = txn.error};
  reply.codes = txn.codes;
  if (txn.kind == Transaction::Kind::kCreate) reply.path = txn.path;
  if (txn.kind == Transaction::Kind::kCreate || txn.kind == Transaction::Kind::kSetData) {
    reply.stat = StatOf(*tree(number).Find(txn.path));
  }
  connection.to_client.emplace_back(wire::Answer{txn.call, txn.zxid, std::move(reply)});
}

}  // namespace zkrecipes::testing::memory

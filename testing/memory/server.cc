// SPDX-License-Identifier: Apache-2.0
//
// A server of ModelEnsemble at work: reads messages, answers reads.

#include <algorithm>
#include <cassert>

#include "lib/zk/seam/path.h"
#include "testing/memory/model_ensemble.h"
#include "testing/memory/tree.h"

namespace zkrecipes::testing::memory {
namespace {

zk::Reply Failure(zk::Code code) { return {.code = code}; }

bool IsWrite(const ToServer& message) {
  if (std::holds_alternative<wire::EndSession>(message)) return true;
  const auto* call = std::get_if<wire::Call>(&message);
  return call != nullptr && (std::holds_alternative<zk::Create>(call->request) ||
                             std::holds_alternative<zk::Delete>(call->request) ||
                             std::holds_alternative<zk::SetData>(call->request) ||
                             std::holds_alternative<zk::Multi>(call->request));
}

}  // namespace

// Carries out a message that the server has read.
struct ModelEnsemble::Executing {
  ModelEnsemble& model;
  const ConnectionId id;
  Connection& connection;
  const base::BootTime now;

  void operator()(const wire::Hello& hello);
  void Resume(const wire::Hello& hello);
  void operator()(const wire::SetWatches& message);

  void operator()(const wire::Ping&) { connection.to_client.emplace_back(wire::Pong{}); }

  void operator()(const wire::Credential& credential) {
    connection.digest_ids.push_back(DigestId(credential.digest));
    connection.to_client.emplace_back(wire::Pong{});
  }

  void operator()(const wire::EndSession&) {
    const auto session = model.sessions_.find(connection.session);
    if (session == model.sessions_.end() || session->second.closing) return;
    model.ProposeClose(session->first, session->second, id);
  }

  void operator()(const wire::Call& call) {
    if (IsWrite(call)) return model.ProposeCall(id, connection, call, now);
    connection.to_client.emplace_back(
        wire::Answer{call.id, model.last_zxid(connection.server), Read(call.request)});
  }
  zk::Reply Read(const zk::Request& request);
};

ConnectionId ModelEnsemble::NextToExecute(ConnectionId after) const {
  for (auto it = connections_.upper_bound(after); it != connections_.end(); ++it) {
    if (CanExecute(it->second)) return it->first;
  }
  return 0;
}

bool ModelEnsemble::CanExecute(const Connection& connection) const {
  if (!connection.server_open || connection.to_server.empty()) return false;
  const ToServer& next = connection.to_server.front();
  const Server& server = servers_[Index(connection.server)];
  if (server.still) return false;
  const bool hello = std::holds_alternative<wire::Hello>(next);
  if (!hello && !IsWrite(next)) return connection.unapplied == 0;
  // The leader is asked; of a Hello its answer is awaited.
  return Reaches(connection.server) && !servers_[Index(leader_)].still && !server.mute &&
         !(hello && server.deaf);
}

void ModelEnsemble::Execute(ConnectionId id, base::BootTime now) {
  assert(CanExecute(id));
  Connection& connection = connections_.at(id);
  const ToServer message = std::move(connection.to_server.front());
  connection.to_server.pop_front();
  Touch(connection.session, connection.server, now);  // a request is a sign of life
  if (!Refuses(id, message)) std::visit(Executing{*this, id, connection, now}, message);
  // A client that has hung up is noticed when everything it sent was read.
  if (!connection.client_open && connection.to_server.empty()) CloseServerEnd(connection);
  ForgetIfClosed(id);
}

// A server that has too much to do. True: it is seen to.
bool ModelEnsemble::Refuses(ConnectionId id, const ToServer& message) {
  const ServerTraits& traits = options_.traits;
  const auto* call = std::get_if<wire::Call>(&message);
  if (call == nullptr) return false;
  Connection& connection = connections_.at(id);
  const bool counts = traits.throttled_of > 0 || traits.shed_of > 0;
  if (counts) ++counted_;
  const auto is_due = [this](int of) {
    return of > 0 && counted_ % static_cast<uint64_t>(of) == 0;
  };
  if (is_due(traits.shed_of)) {
    CloseServerEnd(connection);
    return true;
  }
  if (!is_due(traits.throttled_of)) return false;
  if (IsWrite(message)) {  // answered in its turn
    ++connection.unapplied;
    Propose({.session = connection.session,
             .connection = id,
             .call = call->id,
             .error = zk::Code::kThrottled});
  } else {
    connection.to_client.emplace_back(
        wire::Answer{call->id, last_zxid(connection.server), Failure(zk::Code::kThrottled)});
  }
  return true;
}

void ModelEnsemble::Spread() {
  while (CanCommit()) Commit();
  for (int i = 0; i < servers(); ++i) {
    while (CanApply(i)) Apply(i);
  }
}

void ModelEnsemble::Finish(ConnectionId id, base::BootTime now) {
  const int server = ServerOf(id);
  bool more = true;
  while (more) {
    while (CanCommit()) Commit();
    while (CanApply(server)) Apply(server);
    more = CanExecute(id);
    if (more) Execute(id, now);
  }
}

// ---- connecting ---------------------------------------------------------------------------------

void ModelEnsemble::Executing::operator()(const wire::Hello& hello) {
  if (hello.seen_zxid > model.last_zxid(connection.server)) return model.CloseServerEnd(connection);
  for (const std::string& credentials : hello.digest_credentials) {
    connection.digest_ids.push_back(DigestId(credentials));
  }
  connection.acl = hello.acl;
  if (hello.session != 0) return Resume(hello);
  connection.session = ++model.last_session_;
  Session& session = model.sessions_[connection.session];
  session.timeout = model.Negotiated(hello.timeout);
  session.deadline = model.Bucket(now + session.timeout);
  session.owner = connection.server;
  ++connection.unapplied;
  model.Propose({.kind = Transaction::Kind::kOpenSession,
                 .session = connection.session,
                 .connection = id,
                 .timeout = session.timeout});
}

// The leader itself is asked, and counts it as a sign of life.
void ModelEnsemble::Executing::Resume(const wire::Hello& hello) {
  if (!model.SessionLives(hello.session)) {
    connection.to_client.emplace_back(wire::Expired{});
    return model.CloseServerEnd(connection);
  }
  // A server knows one connection of a session: the one before is closed.
  for (auto& [other_id, other] : model.connections_) {
    if (&other != &connection && other.session == hello.session &&
        other.server == connection.server) {
      model.CloseServerEnd(other);
    }
  }
  std::erase_if(model.connections_, [](const auto& entry) {
    return !entry.second.client_open && !entry.second.server_open;
  });
  Session& session = model.sessions_.at(hello.session);
  session.timeout = model.Negotiated(hello.timeout);
  session.owner = connection.server;
  connection.session = hello.session;
  model.Touch(hello.session, model.leader_, now);
  connection.to_client.emplace_back(wire::Welcome{hello.session, session.timeout});
}

// Kind by kind: the events of one node may be two.
void ModelEnsemble::Executing::operator()(const wire::SetWatches& message) {
  const Tree& seen = model.tree(connection.server);
  const auto set = [&](const std::string& path, zk::WatchKind kind, bool fires,
                       zk::WatchEvent event) {
    if (fires) {
      connection.to_client.emplace_back(wire::Fired{path, event});
    } else {
      connection.watches.insert({path, kind});
    }
  };
  // Of a node that was there: it is gone, or what the watch is for has changed.
  const auto set_present = [&](const std::string& path, zk::WatchKind kind, int64_t Node::*zxid,
                               zk::WatchEvent event) {
    const Node* node = seen.Find(path);
    if (node == nullptr) return set(path, kind, true, zk::WatchEvent::kDeleted);
    set(path, kind, node->*zxid > message.since, event);
  };
  for (const std::string& path : message.present) {
    set_present(path, zk::WatchKind::kExists, &Node::mzxid, zk::WatchEvent::kNodeData);
  }
  for (const std::string& path : message.absent) {
    set(path, zk::WatchKind::kExists, seen.Find(path) != nullptr, zk::WatchEvent::kNodeData);
  }
  for (const std::string& path : message.paths) {
    set_present(path, zk::WatchKind::kNode, &Node::pzxid, zk::WatchEvent::kChanged);
  }
  connection.to_client.emplace_back(wire::Pong{});
}

// ---- reading ------------------------------------------------------------------------------------

zk::Reply ModelEnsemble::Executing::Read(const zk::Request& request) {
  const std::string& path = zk::PathOf(request);
  if (const auto* remove = std::get_if<zk::RemoveWatches>(&request)) {
    const bool there = connection.watches.erase({path, remove->kind}) > 0;
    return there ? zk::Reply() : Failure(zk::Code::kNoWatcher);
  }
  const Tree& seen = model.tree(connection.server);
  const Node* node = seen.Find(path);
  const bool exists = std::holds_alternative<zk::WatchExists>(request);
  const bool hidden = exists && node != nullptr && model.options_.traits.exists_needs_read &&
                      !Allows(node->acl, kMayRead, connection.digest_ids);
  if (hidden) return Failure(zk::Code::kNoAuth);
  if (exists) connection.watches.insert({path, zk::WatchKind::kExists});
  if (node == nullptr) return Failure(zk::Code::kNoNode);
  zk::Reply reply;
  if (exists) {
    reply.stat = StatOf(*node);
    return reply;
  }
  const bool asks_acl = std::holds_alternative<zk::GetAcl>(request);
  const int32_t permission = asks_acl ? kMayRead | kMayAdminister : kMayRead;
  if (!Allows(node->acl, permission, connection.digest_ids)) return Failure(zk::Code::kNoAuth);
  if (std::holds_alternative<zk::Get>(request)) {
    reply.stat = StatOf(*node);
    reply.data = node->data;
  } else if (asks_acl) {
    reply.stat = StatOf(*node);
    reply.acl = ShownAcl(node->acl, connection.digest_ids);
  } else {
    reply.children = zk::Names(seen.Children(path));
    if (std::holds_alternative<zk::WatchNode>(request)) {
      connection.watches.insert({path, zk::WatchKind::kNode});
    }
  }
  return reply;
}

}  // namespace zkrecipes::testing::memory

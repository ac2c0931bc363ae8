// SPDX-License-Identifier: Apache-2.0
//
// Connections, sessions, time and faults. server.cc: a server at work; leader.cc: what it proposes.

#include "testing/memory/model_ensemble.h"

#include <algorithm>
#include <cassert>

namespace zkrecipes::testing::memory {

ModelEnsemble::ModelEnsemble(const ModelOptions& options)
    : options_(options),
      servers_(Index(options.servers)),
      next_reaping_(base::BootTime() + options.container_check_interval) {
  assert(options.servers > 0);
}

// ---- connections ---------------------------------------------------------------------------------

ConnectionId ModelEnsemble::Connect(int server, wire::Hello hello) {
  if (!Serves(server)) return 0;
  Connection& connection = connections_[++last_connection_];
  connection.server = server;
  connection.to_server.emplace_back(std::move(hello));
  return last_connection_;
}

void ModelEnsemble::Send(ConnectionId id, ToServer message) {
  Connection& connection = connections_.at(id);
  if (connection.server_open) connection.to_server.push_back(std::move(message));
}

std::optional<ToClient> ModelEnsemble::Receive(ConnectionId id) {
  Connection& connection = connections_.at(id);
  if (connection.to_client.empty()) return std::nullopt;
  ToClient message = std::move(connection.to_client.front());
  connection.to_client.pop_front();
  return message;
}

bool ModelEnsemble::HasMessage(ConnectionId id) const {
  return !connections_.at(id).to_client.empty();
}

bool ModelEnsemble::ServerHungUp(ConnectionId id) const { return !connections_.at(id).server_open; }

void ModelEnsemble::HangUp(ConnectionId id) {
  Connection& connection = connections_.at(id);
  connection.client_open = false;
  connection.to_client.clear();
  if (connection.to_server.empty()) CloseServerEnd(connection);
  ForgetIfClosed(id);
}

void ModelEnsemble::DropUnread(ConnectionId id) {
  CloseServerEnd(connections_.at(id));
  ForgetIfClosed(id);
}

void ModelEnsemble::CloseServerEnd(Connection& connection) {
  connection.server_open = false;
  connection.to_server.clear();
  connection.watches.clear();
}

void ModelEnsemble::ForgetIfClosed(ConnectionId id) {
  const Connection& connection = connections_.at(id);
  if (!connection.client_open && !connection.server_open) connections_.erase(id);
}

// ---- sessions and time ---------------------------------------------------------------------------

absl::Duration ModelEnsemble::Negotiated(absl::Duration asked) const {
  return std::clamp(asked, options_.min_session_timeout, options_.max_session_timeout);
}

// Expiry is looked for once a tick: never early, late by up to a tick.
base::BootTime ModelEnsemble::Bucket(base::BootTime time) const {
  const int64_t ticks = time.since_boot() / options_.tick + 1;
  return base::BootTime::SinceBoot(options_.tick * ticks);
}

void ModelEnsemble::Touch(zk::SessionId session, int server, base::BootTime now) {
  const auto it = sessions_.find(session);
  if (it == sessions_.end() || it->second.closing) return;
  Session& s = it->second;
  if (s.touched_by >= 0 && s.touch_arrives <= now) {
    s.deadline = DeadlineOf(s);
    s.touched_by = -1;
  }
  if (server == leader_) {
    s.deadline = std::max(s.deadline, Bucket(now + s.timeout));
  } else if (!IsCutOff(server)) {
    // The leader pings twice a tick, and the answer carries the touches.
    const absl::Duration half = options_.tick / 2;
    s.touched_by = server;
    s.touch_arrives = base::BootTime::SinceBoot(half * (now.since_boot() / half + 1));
  }
}

base::BootTime ModelEnsemble::DeadlineOf(const Session& session) const {
  // A touch that arrives after the deadline is too late.
  if (session.touched_by < 0 || session.touch_arrives >= session.deadline) return session.deadline;
  return std::max(session.deadline, Bucket(session.touch_arrives + session.timeout));
}

base::BootTime ModelEnsemble::DeadlineOf(zk::SessionId session) const {
  return DeadlineOf(sessions_.at(session));
}

bool ModelEnsemble::SessionLives(zk::SessionId session) const {
  const auto it = sessions_.find(session);
  return it != sessions_.end() && !it->second.closing;
}

bool ModelEnsemble::Expire(zk::SessionId session, base::BootTime /*now*/) {
  if (!SessionLives(session) || !HasQuorum()) return false;
  ProposeClose(session, sessions_.at(session), 0);
  return true;
}

void ModelEnsemble::Tick(base::BootTime now) {
  for (int i = 0; i < servers(); ++i) {
    Server& server = servers_[Index(i)];
    if (!server.cut_off || !server.serving || now < server.gives_up) continue;
    server.serving = false;
    for (const ConnectionId id : connections()) {
      if (ServerOf(id) == i) DropUnread(id);
    }
  }
  if (!HasQuorum()) return;
  for (auto& [id, session] : sessions_) {
    if (!session.closing && DeadlineOf(session) <= now) ProposeClose(id, session, 0);
  }
  if (now < next_reaping_) return;
  ReapContainers(now);
  while (next_reaping_ <= now) next_reaping_ = next_reaping_ + options_.container_check_interval;
}

base::BootTime ModelEnsemble::NextDeadline() const {
  base::BootTime next = base::BootTime::InfiniteFuture();
  for (const Server& server : servers_) {
    if (server.cut_off && server.serving) next = std::min(next, server.gives_up);
  }
  if (!HasQuorum()) return next;
  for (const auto& [id, session] : sessions_) {
    if (!session.closing) next = std::min(next, DeadlineOf(session));
  }
  for (const auto& [path, node] : prepared_.nodes()) {
    if (node.container && node.children == 0 && node.cversion > 0) {
      next = std::min(next, next_reaping_);
    }
  }
  return next;
}

// ---- servers -------------------------------------------------------------------------------------

bool ModelEnsemble::HasQuorum() const {
  if (servers_[Index(leader_)].cut_off) return false;
  const auto in_touch = std::count_if(servers_.begin(), servers_.end(),
                                      [](const Server& server) { return !server.cut_off; });
  return 2 * in_touch > servers();
}

bool ModelEnsemble::Reaches(int server) const { return HasQuorum() && !IsCutOff(server); }

void ModelEnsemble::CutOff(int server, base::BootTime now) {
  Server& s = servers_[Index(server)];
  if (std::exchange(s.cut_off, true)) return;
  s.gives_up = now + options_.tick * options_.sync_limit;
  for (auto& [id, session] : sessions_) {
    if (session.touched_by != server) continue;
    if (session.touch_arrives <= now) session.deadline = DeadlineOf(session);
    session.touched_by = -1;
  }
}

void ModelEnsemble::Heal(int server) {
  Server& s = servers_[Index(server)];
  if (!std::exchange(s.cut_off, false)) return;
  s.serving = true;
  for (const ConnectionId id : connections()) {
    if (ServerOf(id) == server) DropUnread(id);
  }
  while (CanApply(server)) Apply(server);
}

void ModelEnsemble::ElectLeader(int server, size_t kept, base::BootTime now) {
  assert(!IsCutOff(server));
  for (const ConnectionId id : connections()) {
    if (!IsCutOff(ServerOf(id))) DropUnread(id);
  }
  leader_ = server;
  for (; kept > 0 && !outstanding_.empty(); --kept) LogOldestProposal();
  outstanding_.clear();
  prepared_sequences_.clear();
  // What every server that takes part knows before it serves again.
  for (int i = 0; i < servers(); ++i) {
    while (CanApply(i)) Apply(i);
  }
  prepared_ = committed();
  ++epoch_;
  counter_ = 0;
  std::erase_if(sessions_, [](const auto& entry) { return !entry.second.open; });
  for (auto& [id, session] : sessions_) {
    session.closing = false;
    session.owner = -1;
    session.touched_by = -1;
    session.deadline = Bucket(now + session.timeout);
  }
}

// ---- to look at ----------------------------------------------------------------------------------

size_t ModelEnsemble::Lag(int server) const { return LogEnd() - servers_[Index(server)].applied; }

std::vector<ConnectionId> ModelEnsemble::connections() const {
  std::vector<ConnectionId> ids;
  ids.reserve(connections_.size());
  for (const auto& [id, connection] : connections_) ids.push_back(id);
  return ids;
}

zk::SessionId ModelEnsemble::SessionOf(ConnectionId id) const {
  return connections_.at(id).session;
}

int ModelEnsemble::ServerOf(ConnectionId id) const { return connections_.at(id).server; }

std::vector<std::pair<zk::SessionId, std::string>> ModelEnsemble::Watches() const {
  std::vector<std::pair<zk::SessionId, std::string>> watches;
  for (const auto& [id, connection] : connections_) {
    for (const std::string& path : connection.watches)
      watches.emplace_back(connection.session, path);
  }
  return watches;
}

size_t ModelEnsemble::watches() const {
  size_t count = 0;
  for (const auto& [id, connection] : connections_) count += connection.watches.size();
  return count;
}

}  // namespace zkrecipes::testing::memory

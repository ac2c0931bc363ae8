// SPDX-License-Identifier: Apache-2.0
//
// Connections and servers. sessions.cc: sessions and time; server.cc: a server at work; leader.cc:
// what it proposes.

#include "testing/memory/model_ensemble.h"

#include <algorithm>
#include <cassert>

namespace zkrecipes::testing::memory {

ModelEnsemble::ModelEnsemble(const ModelOptions& options)
    : options_(options),
      servers_(Index(options.servers)),
      next_reaping_(base::BootTime() + options.container_check_interval),
      ping_gap_(options.tick / 2) {
  assert(options.servers > 0);
}

// ---- connections --------------------------------------------------------------------------------

ConnectionId ModelEnsemble::Connect(int address, wire::Hello hello) {
  if (address < 0 || address != AddressOf(ServerAt(address))) return 0;
  const int server = ServerAt(address);
  if (!servers_[Index(server)].serving) return 0;
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

// ---- servers ------------------------------------------------------------------------------------

bool ModelEnsemble::HasQuorum() const {
  if (servers_[Index(leader_)].cut_off) return false;
  const auto in_touch = std::count_if(servers_.begin(), servers_.end(),
                                      [](const Server& server) { return !server.cut_off; });
  return 2 * in_touch > servers();
}

bool ModelEnsemble::Reaches(int server) const { return HasQuorum() && !IsCutOff(server); }

// A follower that a message of the leader's, or its answer, does not reach agrees to nothing.
bool ModelEnsemble::QuorumAnswers() const {
  if (servers_[Index(leader_)].still) return false;
  const auto answer = std::count_if(servers_.begin(), servers_.end(), [](const Server& server) {
    return !server.cut_off && !server.deaf && !server.mute;
  });
  return 2 * answer > servers();
}

void ModelEnsemble::CutOff(int server, base::BootTime now) {
  Ping(now);
  Server& s = servers_[Index(server)];
  if (std::exchange(s.cut_off, true)) return;
  s.gives_up = now + options_.tick * options_.sync_limit;
  ForgetTouches(server);
}

// The touches that the server has noted or sent will never arrive.
void ModelEnsemble::ForgetTouches(int server) {
  Server& s = servers_[Index(server)];
  s.deaf = s.mute = s.ping_waits = false;
  for (auto& [id, session] : sessions_) {
    session.noted.set(server, false);
    session.sent.set(server, false);
  }
}

void ModelEnsemble::Heal(int server, base::BootTime now) {
  const bool had_quorum = HasQuorum();
  Server& s = servers_[Index(server)];
  if (!std::exchange(s.cut_off, false)) return;
  s.serving = true;
  for (const ConnectionId id : connections()) {
    if (ServerOf(id) == server) DropUnread(id);
  }
  while (CanApply(server)) Apply(server);
  if (!had_quorum && HasQuorum()) ElectLeader(leader_, outstanding_.size(), now);
}

void ModelEnsemble::Crash(int server, base::BootTime now) {
  CutOff(server, now);
  servers_[Index(server)].still = false;
  StopServing(server);
}

void ModelEnsemble::StopServing(int server) {
  servers_[Index(server)].serving = false;
  for (const ConnectionId id : connections()) {
    if (ServerOf(id) == server) DropUnread(id);
  }
}

void ModelEnsemble::ElectLeader(int server, size_t kept, base::BootTime now) {
  assert(!IsCutOff(server));
  for (const ConnectionId id : connections()) {
    if (!IsCutOff(ServerOf(id))) DropUnread(id);
  }
  for (int i = 0; i < servers(); ++i) ForgetTouches(i);
  leader_ = server;
  for (; kept > 0 && !outstanding_.empty(); --kept) LogOldestProposal();
  outstanding_.clear();
  prepared_sequences_.clear();
  // Every server that takes part knows all of this before it serves again.
  for (int i = 0; i < servers(); ++i) {
    while (CanApply(i)) Apply(i);
  }
  prepared_ = committed();
  ++epoch_;
  counter_ = 0;
  std::erase_if(sessions_, [](const auto& entry) { return !entry.second.open; });
  last_ping_ = now;
  next_ping_ = now + ping_gap_;
  for (auto& [id, session] : sessions_) {
    session.closing = false;
    session.due = false;
    session.owner = -1;
    session.deadline = Bucket(now + session.timeout);
  }
}

// ---- to look at ---------------------------------------------------------------------------------

std::vector<ConnectionId> ModelEnsemble::connections() const {
  std::vector<ConnectionId> ids;
  ids.reserve(connections_.size());
  for (const auto& [id, connection] : connections_) ids.push_back(id);
  return ids;
}

std::vector<std::pair<zk::SessionId, std::string>> ModelEnsemble::Watches() const {
  std::vector<std::pair<zk::SessionId, std::string>> watches;
  for (const auto& [id, connection] : connections_) {
    for (const zk::Watch& watch : connection.watches) {
      watches.emplace_back(connection.session, watch.path);
    }
  }
  return watches;
}

}  // namespace zkrecipes::testing::memory

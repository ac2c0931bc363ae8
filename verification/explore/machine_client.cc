// SPDX-License-Identifier: Apache-2.0
//
// The session, the client library and the network of a MachineWorld.

#include <utility>

#include "verification/explore/machine_world.h"

namespace zkrecipes::explore {
namespace wire = memory::wire;

void MachineWorld::Connect(int client, int server) {
  Client& c = clients_[client];
  wire::Hello hello;
  hello.session = c.session;
  hello.timeout = absl::Seconds(10);
  hello.seen_zxid = c.seen_zxid;
  c.connection = ensemble_.Connect(server, std::move(hello));
}

// A message from the server.
class MachineWorld::Receiving {
 public:
  Receiving(MachineWorld& world, int client)
      : world_(world), client_(client), c_(world.clients_[client]) {}

  void operator()(const wire::Welcome& welcome) {
    c_.session = welcome.session;
    c_.up = true;
    world_.SetWatchesAgain(client_);
    for (size_t i = 0; i < world_.contestants_.size(); ++i) {
      if (world_.contestants_[i].client == client_) world_.OnConnected(static_cast<int>(i));
    }
  }

  void operator()(const wire::Expired&) {
    world_.ensemble_.HangUp(c_.connection);
    c_.connection = 0;
    world_.ForgetSession(client_);
    world_.OnAll(client_, queue::event::Expired{});
  }

  void operator()(const wire::Pong&) {}

  void operator()(const wire::Fired& fired) { world_.Fire(client_, fired.path, fired.what); }

  void operator()(const wire::Answer& answer) {
    c_.seen_zxid = std::max(c_.seen_zxid, answer.zxid);
    const auto it = c_.pending.find(answer.id);
    if (it == c_.pending.end()) return world_.Violate("an answer to no request");
    const Pending pending = std::move(it->second);
    c_.pending.erase(it);
    world_.Answer(client_, pending, answer.reply);
  }

 private:
  MachineWorld& world_;
  const int client_;
  Client& c_;
};

void MachineWorld::Deliver(int client) {
  const auto message = ensemble_.Receive(clients_[client].connection);
  if (!message) return Lose(client);
  std::visit(Receiving(*this, client), *message);
}

void MachineWorld::Answer(int client, const Pending& pending, const zk::Reply& reply) {
  Client& c = clients_[client];
  const bool ok = reply.code == zk::Code::kOk;
  if (const auto* watch = std::get_if<zk::WatchNode>(&pending.request)) {
    if (ok) c.registered.insert(watch->path);
    if (c.table.OnReply({watch->path}, pending.watcher, ok)) RemoveServerWatch(client, watch->path);
    if (!ok) c.watchers.erase(pending.watcher);
  }
  if (const auto* remove = std::get_if<zk::RemoveWatches>(&pending.request); remove && ok) {
    c.registered.erase(remove->path);
  }
  if (pending.contestant < 0) return;
  const bool listing = ok && std::holds_alternative<zk::GetChildren>(pending.request);
  listing_ = listing ? &reply.children : nullptr;
  // Committed in the session that owns the node, which a listing has shown before.
  by_write_ = ok && std::holds_alternative<zk::SetData>(pending.request);
  const auto* create = std::get_if<zk::Create>(&pending.request);
  by_write_ |= ok && create != nullptr && create->mode == zk::CreateMode::kPersistent;
  On(pending.contestant, queue::event::Replied{pending.op, reply, CanBeProven(client)});
  listing_ = nullptr;
  by_write_ = false;
}

void MachineWorld::Send(int client, Pending pending) {
  Client& c = clients_[client];
  const uint64_t call = ++c.last_call;
  ensemble_.Send(c.connection, wire::Call{call, pending.request});
  c.pending.emplace(call, std::move(pending));
}

void MachineWorld::Lose(int client) {
  Client& c = clients_[client];
  ensemble_.HangUp(std::exchange(c.connection, 0));
  if (std::exchange(c.up, false)) OnAll(client, queue::event::Disconnected{});
  zk::Reply lost;
  lost.code = zk::Code::kConnectionLoss;
  for (const auto& [call, pending] : std::exchange(c.pending, {})) Answer(client, pending, lost);
}

void MachineWorld::ForgetSession(int client) {
  Client& c = clients_[client];
  c.up = false;
  c.session = 0;
  c.registered.clear();
  c.table.Clear();
  c.watchers.clear();
}

void MachineWorld::RemoveServerWatch(int client, const std::string& path) {
  if (clients_[client].up) Send(client, Pending{-1, 0, zk::RemoveWatches{path}});
}

// As the client library does it. The session sees to it that a watch whose removal was lost with
// the connection is not set again.
void MachineWorld::SetWatchesAgain(int client) {
  Client& c = clients_[client];
  std::set<std::string> wanted;
  for (const auto& [id, watcher] : c.watchers) wanted.insert(watcher.second);
  std::erase_if(c.registered, [&](const std::string& path) { return wanted.count(path) == 0; });
  if (c.registered.empty()) return;
  ensemble_.Send(c.connection,
                 wire::SetWatches{c.seen_zxid, {c.registered.begin(), c.registered.end()}});
}

void MachineWorld::Fire(int client, const std::string& path, zk::WatchEvent what) {
  Client& c = clients_[client];
  c.registered.erase(path);
  for (const session::WatcherId id : c.table.Fire(path, what)) {
    const auto it = c.watchers.find(id);
    if (it == c.watchers.end()) continue;  // given up by one that was told before
    const int contestant = it->second.first;
    c.watchers.erase(it);
    by_event_ = true;
    On(contestant, queue::event::WatchFired{path, what, CanBeProven(client)});
    by_event_ = false;
  }
}

}  // namespace zkrecipes::explore

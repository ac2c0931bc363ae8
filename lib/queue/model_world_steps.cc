// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "lib/queue/model_world.h"

namespace zkrecipes::queue {

bool ModelWorld::Execute(int client) {
  Client& c = clients_[client];
  if (c.wire.empty() || !c.connected || !server_.Alive(c.session)) return false;
  if (IsWrite(c.wire.front().request)) FlushLate(c);
  Delivery delivery{std::move(c.wire.front()), {}, ""};
  c.wire.pop_front();
  delivery.reply = server_.Execute(c.session, delivery.sent.request);
  SpreadFired();  // an event comes before the reply that shows the change
  c.inbox.push_back(std::move(delivery));
  return true;
}

bool ModelWorld::Throttle(int client) {
  Client& c = clients_[client];
  if (c.wire.empty() || !c.connected || !server_.Alive(c.session)) return false;
  Delivery delivery{std::move(c.wire.front()), {}, ""};
  c.wire.pop_front();
  delivery.reply.code = zk::Code::kThrottled;
  c.inbox.push_back(std::move(delivery));
  return true;
}

bool ModelWorld::Deliver(int client) {
  Client& c = clients_[client];
  if (c.inbox.empty()) return false;
  const Delivery delivery = std::move(c.inbox.front());
  c.inbox.pop_front();
  Arrive(c, delivery);
  return true;
}

void ModelWorld::Arrive(Client& client, const Delivery& delivery) {
  if (!delivery.fired.empty()) return ArriveFired(client, delivery.fired);
  const Sent& sent = delivery.sent;
  const bool ok = delivery.reply.code == zk::Code::kOk;
  if (const auto* watch = std::get_if<zk::WatchNode>(&sent.request)) {
    if (ok) client.registered.insert(watch->path);
    if (client.table.OnReply(watch->path, sent.watcher, ok)) {
      RemoveServerWatch(client, watch->path);
    }
    if (!ok) client.watchers.erase(sent.watcher);
  }
  if (const auto* remove = std::get_if<zk::RemoveWatches>(&sent.request); remove && ok) {
    client.registered.erase(remove->path);
  }
  if (sent.contestant < 0) return;
  const bool listing = std::holds_alternative<zk::GetChildren>(sent.request);
  if (listing) contestants_[sent.contestant].seen = delivery.reply.children;
  Feed(sent.contestant, event::Replied{sent.op, delivery.reply});
}

void ModelWorld::ArriveFired(Client& client, const std::string& path) {
  client.registered.erase(path);
  for (const session::WatcherId id : client.table.Fire(path)) {
    const auto it = client.watchers.find(id);
    if (it == client.watchers.end()) continue;
    const int contestant = it->second.contestant;
    client.watchers.erase(it);
    if (path != contestants_[contestant].machine.node()) ++contestants_[contestant].woken;
    Feed(contestant, event::WatchFired{path, zk::WatchEvent::kDeleted});
  }
}

void ModelWorld::RemoveServerWatch(Client& client, const std::string& path) {
  if (client.connected) client.wire.push_back({-1, 0, zk::RemoveWatches{path}});
}

void ModelWorld::SpreadFired() {
  for (const ModelServer::Fired& fired : server_.TakeFired()) {
    for (Client& client : clients_) {
      const bool its = client.session == fired.session && client.connected;
      if (its) client.inbox.push_back({{}, {}, fired.path});
    }
  }
}

bool ModelWorld::Drop(int client, size_t executed, size_t late) {
  Client& c = clients_[client];
  if (!c.connected) return false;
  const bool alive = server_.Alive(c.session);
  for (size_t i = 0; alive && i < std::min(executed + late, c.wire.size()); ++i) {
    const zk::Request& request = c.wire[i].request;
    if (!IsWrite(request)) continue;
    if (i >= executed) {
      c.late.push_back(request);
      continue;
    }
    FlushLate(c);
    (void)server_.Execute(c.session, request);
  }
  c.connected = false;
  server_.ForgetWatches(c.session);
  SpreadFired();
  FeedAll(client, event::Disconnected{});
  FailEverythingOnItsWay(client);
  return true;
}

void ModelWorld::FailEverythingOnItsWay(int client) {
  Client& c = clients_[client];
  std::deque<Delivery> lost = std::exchange(c.inbox, {});
  for (Sent& sent : std::exchange(c.wire, {})) lost.push_back({std::move(sent), {}, ""});
  for (Delivery& delivery : lost) {
    if (!delivery.fired.empty()) continue;
    delivery.reply = {};
    delivery.reply.code = zk::Code::kConnectionLoss;
    Arrive(c, delivery);
  }
}

void ModelWorld::FlushLate(Client& client) {
  while (!client.late.empty()) {
    (void)server_.Execute(client.session, client.late.front());
    client.late.pop_front();
  }
  SpreadFired();
}

bool ModelWorld::ApplyLate(int client) {
  Client& c = clients_[client];
  if (c.late.empty()) return false;
  (void)server_.Execute(c.session, c.late.front());
  c.late.pop_front();
  SpreadFired();
  return true;
}

bool ModelWorld::Reconnect(int client) {
  Client& c = clients_[client];
  if (c.connected) return false;
  if (c.session != 0 && !server_.Alive(c.session)) {
    ForgetSession(c);
    FeedAll(client, event::SessionLost{});
    return true;
  }
  if (c.session == 0) c.session = server_.Open();
  c.connected = true;
  SetWatchesAgain(c);
  for (int i = 0; i < contestants(); ++i) {
    if (contestants_[i].client == client) FeedConnected(i);
  }
  return true;
}

// As the client library does it. A watch that nobody wants any more, because its removal was lost
// with the connection, is not set again: the session sees to that.
void ModelWorld::SetWatchesAgain(Client& client) {
  std::set<std::string> wanted;
  for (const auto& [id, watcher] : client.watchers) wanted.insert(watcher.path);
  std::erase_if(client.registered, [&](const auto& path) { return wanted.count(path) == 0; });
  for (const std::string& path : client.registered) {
    if (!server_.Watch(client.session, path)) client.inbox.push_back({{}, {}, path});
  }
}

void ModelWorld::ForgetSession(Client& client) {
  client.session = 0;
  client.registered.clear();
  client.table.Clear();
  client.watchers.clear();
  client.late.clear();
  for (Contestant& c : contestants_) {
    if (&clients_[c.client] == &client) c.seen.clear();
  }
}

bool ModelWorld::Expire(int client) {
  Client& c = clients_[client];
  if (c.session == 0 || !server_.Alive(c.session)) return false;
  c.late.clear();  // whatever comes for it now is refused
  server_.Expire(c.session);
  SpreadFired();
  return true;
}

bool ModelWorld::ReplaceSession(int client) {
  Client& c = clients_[client];
  if (!c.connected || !Expire(client)) return false;
  std::deque<Delivery> inbox = std::exchange(c.inbox, {});
  std::deque<Sent> wire = std::exchange(c.wire, {});
  ForgetSession(c);
  c.session = server_.Open();
  for (int i = 0; i < contestants(); ++i) {
    if (contestants_[i].client == client) FeedConnected(i);
  }
  zk::Reply lost;
  lost.code = zk::Code::kConnectionLoss;
  for (const Delivery& delivery : inbox) {
    if (!delivery.fired.empty() || delivery.sent.contestant < 0) continue;
    Feed(delivery.sent.contestant, event::Replied{delivery.sent.op, lost});
  }
  for (const Sent& sent : wire) {
    if (sent.contestant >= 0) Feed(sent.contestant, event::Replied{sent.op, lost});
  }
  return true;
}

bool ModelWorld::Retry(int contestant) {
  if (!std::exchange(contestants_[contestant].retry_due, false)) return false;
  Feed(contestant, event::RetryDue{});
  return true;
}

bool ModelWorld::WatchOwnNode(int contestant) {
  if (!std::exchange(contestants_[contestant].own_watch_due, false)) return false;
  Feed(contestant, event::OwnWatchDue{});
  return true;
}

bool ModelWorld::Leave(int contestant) {
  Contestant& c = contestants_[contestant];
  if (c.finished || c.told_to_leave) return false;
  c.told_to_leave = true;
  Feed(contestant, event::Leave{});
  return true;
}

bool ModelWorld::Lapse(int contestant) {
  if (contestants_[contestant].machine.state() != Contender::State::kHeld) return false;
  Feed(contestant, event::Lapsed{});
  return true;
}

bool ModelWorld::DeleteNode(int contestant) {
  bool any = false;
  for (const std::string& path : NodesInTree(contestants_[contestant])) any |= server_.Delete(path);
  SpreadFired();
  return any;
}

bool ModelWorld::StaleReplies(int contestant) {
  Contestant& c = contestants_[contestant];
  const Client& client = clients_[c.client];
  std::set<OpId> outstanding;
  for (const Sent& sent : client.wire) {
    if (sent.contestant == contestant) outstanding.insert(sent.op);
  }
  for (const Delivery& delivery : client.inbox) {
    if (delivery.sent.contestant == contestant) outstanding.insert(delivery.sent.op);
  }
  const Contender before = c.machine;
  zk::Reply reply;
  reply.stat.ephemeral_owner = client.session;
  for (OpId op = 0; op <= c.last_op; ++op) {
    if (outstanding.count(op) > 0) continue;
    for (const zk::Code code : {zk::Code::kOk, zk::Code::kNoNode, zk::Code::kNoAuth}) {
      reply.code = code;
      Feed(contestant, event::Replied{op, reply});
    }
  }
  EXPECT_TRUE(c.machine == before) << "a stale reply had an effect";
  return true;
}

}  // namespace zkrecipes::queue

// SPDX-License-Identifier: Apache-2.0
//
// The surroundings of a MachineWorld's contenders: the session, the client library and the
// network, and the recipe that upgrades and downgrades.

#include <algorithm>
#include <utility>

#include "lib/zk/seam/path.h"
#include "verification/explore/machine_world.h"

namespace zkrecipes::explore {
namespace wire = memory::wire;

std::optional<zk::Watch> WatchOf(const zk::Request& request) {
  if (const auto* node = std::get_if<zk::WatchNode>(&request)) return zk::Watch{node->path};
  const auto* exists = std::get_if<zk::WatchExists>(&request);
  if (exists == nullptr) return std::nullopt;
  return zk::Watch{exists->path, zk::WatchKind::kExists};
}

void MachineWorld::Connect(int client, int server) {
  Client& c = clients_[client];
  wire::Hello hello;
  hello.session = c.session;
  hello.timeout = absl::Seconds(10);
  hello.seen_zxid = c.seen_zxid;
  c.connection = ensemble_.Connect(server, std::move(hello));
}

// A message from the server.
struct MachineWorld::Receiving {
  MachineWorld& world;
  const int client;
  Client& c = world.clients_[client];

  void operator()(const wire::Welcome& welcome) {
    c.session = welcome.session;
    c.up = true;
    world.SetWatchesAgain(client);
    for (size_t i = 0; i < world.contestants_.size(); ++i) {
      if (world.contestants_[i].client == client) world.OnConnected(static_cast<int>(i));
    }
  }

  void operator()(const wire::Expired&) {
    world.ensemble_.HangUp(c.connection);
    c.connection = 0;
    world.ForgetSession(client);
    world.OnAll(client, queue::machine::event::Expired{});
  }

  void operator()(const wire::Pong&) {}

  void operator()(const wire::Fired& fired) { world.Fire(client, fired.path, fired.what); }

  void operator()(const wire::Answer& answer) {
    c.seen_zxid = std::max(c.seen_zxid, answer.zxid);
    const auto it = c.pending.find(answer.id);
    if (it == c.pending.end()) return world.Violate("an answer to no request");
    const Pending pending = std::move(it->second);
    c.pending.erase(it);
    world.Answer(client, pending, answer.reply);
  }
};

void MachineWorld::Deliver(int client) {
  const auto message = ensemble_.Receive(clients_[client].connection);
  if (!message) return Lose(client);
  std::visit(Receiving{*this, client}, *message);
}

void MachineWorld::Answer(int client, const Pending& pending, const zk::Reply& reply) {
  Client& c = clients_[client];
  const bool ok = reply.code == zk::Code::kOk;
  if (const std::optional<zk::Watch> watch = WatchOf(pending.request)) {
    // Of an absent node, too, if it is for its existence.
    const bool absent = reply.code == zk::Code::kNoNode && watch->kind == zk::WatchKind::kExists;
    const bool armed = ok || absent;
    if (armed) c.registered[*watch] = absent;
    if (c.table.OnReply(*watch, pending.watcher, armed)) RemoveServerWatch(client, *watch);
    if (!armed) c.watchers.erase(pending.watcher);
  }
  if (const auto* remove = std::get_if<zk::RemoveWatches>(&pending.request); remove && ok) {
    c.registered.erase({remove->path, remove->kind});
  }
  if (pending.contestant < 0) return;
  const bool listing = ok && std::holds_alternative<zk::GetChildren>(pending.request);
  listing_ = listing ? &reply.children : nullptr;
  // Of a lock's record: committed in the session that owns the node, which a listing has shown
  // before. A permit's writes prove nothing: one is the number's, the other follows its admission.
  const queue::machine::Candidacy& spec = contestants_[pending.contestant].spec;
  const auto* create = std::get_if<zk::Create>(&pending.request);
  by_write_ = ok && spec.permits == 0 && std::holds_alternative<zk::SetData>(pending.request);
  by_write_ |= ok && create != nullptr && create->mode == zk::CreateMode::kPersistent;
  // A member waits for nobody: its node alone is what it needs, made or read in its session.
  const bool is_own = create != nullptr || std::holds_alternative<zk::Get>(pending.request);
  by_write_ |= ok && is_own && spec.mode == queue::machine::Mode::kMember;
  On(pending.contestant, queue::machine::event::Replied{pending.op, reply, CanBeProven(client)});
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
  if (std::exchange(c.up, false)) OnAll(client, queue::machine::event::Disconnected{});
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

void MachineWorld::RemoveServerWatch(int client, const zk::Watch& watch) {
  if (clients_[client].up) Send(client, Pending{-1, 0, zk::RemoveWatches{watch.path, watch.kind}});
}

// As the client library does it. The session sees to it that a watch whose removal was lost with
// the connection is not set again.
void MachineWorld::SetWatchesAgain(int client) {
  Client& c = clients_[client];
  std::set<zk::Watch> wanted;
  for (const auto& [id, watcher] : c.watchers) wanted.insert(watcher.second);
  std::erase_if(c.registered, [&](const auto& one) { return wanted.count(one.first) == 0; });
  if (c.registered.empty()) return;
  wire::SetWatches set{c.seen_zxid};
  for (const auto& [watch, absent] : c.registered) {
    auto& paths = watch.kind == zk::WatchKind::kNode ? set.paths
                  : absent                           ? set.absent
                                                     : set.present;
    paths.push_back(watch.path);
  }
  ensemble_.Send(c.connection, std::move(set));
}

void MachineWorld::Fire(int client, const std::string& path, zk::WatchEvent what) {
  Client& c = clients_[client];
  for (const auto kind : {zk::WatchKind::kNode, zk::WatchKind::kExists}) {
    if (zk::Fires(what, kind)) c.registered.erase({path, kind});
  }
  for (const session::machine::WatcherId id : c.table.Fire(path, what)) {
    const auto it = c.watchers.find(id);
    if (it == c.watchers.end()) continue;  // given up by one that was told before
    const int contestant = it->second.first;
    c.watchers.erase(it);
    by_event_ = true;
    On(contestant, queue::machine::event::WatchFired{path, what, CanBeProven(client)});
    by_event_ = false;
  }
}

// ---- upgrades and downgrades, as the recipe does them -------------------------------------------

bool MachineWorld::CanFollow(const Contestant& c) const {
  return c.then.has_value() && c.follower < 0 && Believes(c);
}

// While it is being upgraded or downgraded its owner keeps it.
bool MachineWorld::CanRelease(const Contestant& c) const {
  if (c.machine.state() != queue::machine::Contender::State::kHeld) return false;
  return c.follower < 0 || contestants_[c.follower].finished;
}

void MachineWorld::Follow(int contestant) {
  Contestant& c = contestants_[contestant];
  queue::machine::Candidacy spec = c.spec;
  spec.mode = *c.then;
  spec.follows = {std::string(zk::NodeName(c.node)), c.session, c.token};
  c.follower = static_cast<int>(contestants_.size());
  Enter(c.client, {std::move(spec)}, contestant);
}

// The lease before is released once the next one is granted.
void MachineWorld::TakeOver(int follower) {
  const int followed = contestants_[follower].followed;
  if (contestants_[followed].overtaken) Violate("a writer came in between");
  if (!contestants_[followed].told_to_leave) Leave(followed);
}

void MachineWorld::CheckRefusal(const Contestant& follower) {
  const Contestant& followed = contestants_[follower.followed];
  if (follower.outcome == queue::machine::Outcome::kFollowedLost && Believes(followed) &&
      HasLiveNode(followed)) {
    Violate("did not go on from a lease that is held");
  }
  if (follower.outcome == queue::machine::Outcome::kWriterQueued &&
      follower.spec.mode == queue::machine::Mode::kShared) {
    Violate("a downgrade that a writer refused");
  }
}

void MachineWorld::Overtake(int writer) {
  for (size_t i = 0; i < contestants_.size(); ++i) {
    Contestant& c = contestants_[i];
    if (static_cast<int>(i) != writer && c.then.has_value() && c.granted) c.overtaken = true;
  }
}

}  // namespace zkrecipes::explore

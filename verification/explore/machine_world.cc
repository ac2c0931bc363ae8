// SPDX-License-Identifier: Apache-2.0
//
// The contenders' actions, and the rules that must hold. transitions.cc: the events.

#include "verification/explore/machine_world.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "lib/queue/machine/node_name.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::explore {
namespace {

using memory::Node;
using queue::machine::Mode;

// Contestant 3's second GUID is 0004...0002. Contestants that are alike often come in the order of
// their numbers, which must not be that of their names: so those fall.
constexpr int kHighest = 0xffff;

std::string Guid(int contestant, int number, bool alike) {
  return absl::StrFormat("%016x%016x", alike ? kHighest - contestant : contestant + 1, number);
}

int ContestantOf(const std::string& guid) {
  const int name = std::stoi(guid.substr(0, 16), nullptr, 16);
  return name > kHighest / 2 ? kHighest - name : name - 1;
}

// Beyond it the numbers may overflow while a contestant still waits; then order is lost.
constexpr int32_t kLastSafeSequence = std::numeric_limits<int32_t>::max() - 1000;

bool MayShare(Mode a, Mode b) {
  return a == b && (a == Mode::kShared || a == Mode::kPermit || a == Mode::kMember);
}

}  // namespace

// Carries out one contestant's actions, and checks them.
struct MachineWorld::Doing {
  MachineWorld& world;
  const int index;
  Contestant& contestant = world.contestants_[index];
  Client& client = world.clients_[contestant.client];

  void operator()(const queue::machine::action::Send& a) {
    if (!client.up) return world.Violate("sent without a connection");
    Pending pending{index, a.op, a.request};
    if (const std::optional<zk::Watch> watch = WatchOf(a.request)) {
      pending.watcher = ++client.last_watcher;
      client.table.Add(*watch, pending.watcher);
      client.watchers[pending.watcher] = {index, *watch};
    }
    world.Send(contestant.client, std::move(pending));
  }

  void operator()(const queue::machine::action::Unwatch& a) {
    for (const auto& [id, watcher] : client.watchers) {
      const zk::Watch watch{a.path, a.kind};
      if (watcher != Watcher(index, watch)) continue;
      const bool remove = client.table.Remove(watch, id);
      client.watchers.erase(id);
      if (remove) world.RemoveServerWatch(contestant.client, watch);
      return;
    }
  }

  void operator()(const queue::machine::action::StartRetryTimer&) { contestant.retry_due = true; }
  void operator()(const queue::machine::action::StartOwnWatchTimer&) {
    contestant.own_watch_due = true;
  }
  // No watch is lost here: a look finds nothing.
  void operator()(const queue::machine::action::StartCheckTimer&) {}
  void operator()(const queue::machine::action::StartDelayTimer& a) { contestant.delay_due = a.op; }

  void operator()(const queue::machine::Grant& a) {
    if (contestant.granted) return world.Violate("granted twice");
    if (contestant.told_to_leave) return world.Violate("granted after it was told to leave");
    if (!client.up || a.session != client.session) {
      return world.Violate("granted for a session that is not the current one");
    }
    if (!world.HasEvidence(contestant.client, a.node)) {
      return world.Violate("granted without a proof that its node is there");
    }
    contestant.granted = true;
    contestant.session = a.session;
    contestant.node = a.node;
    contestant.token = a.token;
    contestant.czxid = a.czxid;
    world.CheckGrant(contestant);
    if (contestant.spec.delays()) world.CheckDelay(contestant);
    if (contestant.followed >= 0) world.TakeOver(index);
    if (!MayShare(contestant.spec.mode, contestant.spec.mode)) world.Overtake(index);
    world.last_granted_ = index;
  }

  void operator()(const queue::machine::action::LeaseLost&) {
    if (!contestant.granted || contestant.told_to_leave || contestant.lost) {
      world.Violate("lost a lease that it did not hold");
    }
    contestant.lost = true;
  }

  void operator()(const queue::machine::action::LeaveRefused&) {
    world.Violate("was refused to leave");
  }

  void operator()(const queue::machine::action::Finished& a) {
    contestant.finished = true;
    contestant.outcome = a.outcome;
    contestant.retry_due = contestant.own_watch_due = false;
    contestant.delay_due = 0;
    if (contestant.lost != (a.outcome == queue::machine::Outcome::kLost)) {
      world.Violate("finished as lost or not, against what it said before");
    }
    if (!world.NodesOf(index).empty()) world.Violate("finished with a node in the tree");
    if (contestant.followed >= 0) world.CheckRefusal(contestant);
  }
};

MachineWorld::MachineWorld(const NamedSet& set)
    : set_(&set), ensemble_({.servers = set.servers()}) {
  const int contestants = static_cast<int>(set.contestants.size());
  const auto client_of = [&](int contestant) {
    if (set.Has(NamedSet::kOneClient)) return 0;
    const bool last = contestant + 1 == contestants;
    return set.Has(NamedSet::kLastApart) ? static_cast<int>(last) : contestant;
  };
  clients_.resize(static_cast<size_t>(client_of(contestants - 1)) + 1);
  if (!set.Has(NamedSet::kNoParent)) {
    Node parent;
    parent.container = true;
    (void)ensemble_.OperatorCreates("/q", std::move(parent), base::BootTime());
    Spread();
  }
  if (set.Has(NamedSet::kOverflow)) {
    ensemble_.SetNextSequence("/q", std::numeric_limits<int32_t>::max());
  }
  Settle();
  for (int i = 0; i < contestants; ++i) {
    if (set.Has(NamedSet::kLastApart) && i + 1 == contestants) Settle();
    Enter(client_of(i), set.contestants[static_cast<size_t>(i)]);
  }
}

void MachineWorld::Enter(int client, const NamedSet::Role& role, int followed) {
  contestants_.push_back(Contestant{queue::machine::Contender(role.spec), role.spec, client});
  contestants_.back().then = role.then;
  contestants_.back().followed = followed;
  if (clients_[client].up) OnConnected(static_cast<int>(contestants_.size()) - 1);
}

void MachineWorld::On(int contestant, queue::machine::Event event) {
  if (std::holds_alternative<queue::machine::event::Expired>(event))
    contestants_[contestant].delayed = false;
  for (const queue::machine::Action& action :
       contestants_[contestant].machine.On(std::move(event))) {
    if (contestants_[contestant].finished) Violate("did something after it was finished");
    std::visit(Doing{*this, contestant}, action);
  }
}

void MachineWorld::OnAll(int client, const queue::machine::Event& event) {
  for (size_t i = 0; i < contestants_.size(); ++i) {
    if (contestants_[i].client == client) On(static_cast<int>(i), event);
  }
}

void MachineWorld::OnConnected(int contestant) {
  Contestant& c = contestants_[contestant];
  On(contestant,
     queue::machine::event::Connected{clients_[c.client].session,
                                      Guid(contestant, ++c.guids, set_->Has(NamedSet::kAlike))});
}

// ---- what must hold ----------------------------------------------------------------------------

void MachineWorld::Violate(std::string what) {
  if (violation_.empty()) violation_ = std::move(what);
}

std::vector<std::string> MachineWorld::NodesOf(int contestant) const {
  std::vector<std::string> nodes;
  for (const auto& [path, node] : ensemble_.committed().nodes()) {
    if (node.owner == 0) continue;
    const auto name = queue::machine::ParseNodeName(zk::NodeName(path));
    if (name && ContestantOf(name->guid) == contestant) nodes.push_back(path);
  }
  return nodes;
}

bool MachineWorld::HasEvidence(int client, const std::string& node) const {
  if (by_write_) return true;
  if (by_event_) return CanBeProven(client) && clients_[client].registered.count({node}) > 0;
  return listing_ != nullptr &&
         std::find(listing_->begin(), listing_->end(), zk::NodeName(node)) != listing_->end();
}

// There is no time: whatever can be proven may be.
bool MachineWorld::CanBeProven(int client) const {
  return ensemble_.SessionLives(clients_[client].session);
}

bool MachineWorld::Believes(const Contestant& c) const {
  return c.granted && !c.lost && !c.told_to_leave;
}

bool MachineWorld::HasLiveNode(const Contestant& c) const {
  const Node* node = ensemble_.committed().Find(c.node);
  return node != nullptr && node->czxid == c.czxid;
}

// A grant that rests on a node which is gone already is no violation: its session has expired, or
// an operator deleted it, and the news of it is on the way.
void MachineWorld::CheckGrant(const Contestant& contestant) {
  const Node* own = ensemble_.committed().Find(contestant.node);
  if (own == nullptr) return;
  if (own->czxid != contestant.czxid) return Violate("the czxid is not the node's");
  const bool downgraded = contestant.spec.takes_place();
  const int64_t token = downgraded ? contestant.spec.follows.token : own->czxid;
  if (contestant.token != token) return Violate("the token is not the one it stands for");
  if (own->owner != clients_[contestant.client].session) return Violate("granted another's node");
  if (!MayShare(contestant.spec.mode, contestant.spec.mode)) {
    if (contestant.token <= last_token_) Violate("a token that is not larger than the one before");
    last_token_ = contestant.token;
  }
  const auto own_name = queue::machine::ParseNodeName(zk::NodeName(contestant.node));
  if (own_name->sequence < 0 || own_name->sequence > kLastSafeSequence) {
    return Violate("granted where the sequence numbers are about to end");
  }
  size_t permits = 1;
  for (const std::string& child : ensemble_.committed().Children(contestant.spec.parent)) {
    const auto name = queue::machine::ParseNodeName(child);
    if (!name || name->sequence >= own_name->sequence) continue;
    if (child == contestant.spec.follows.node) continue;
    if (name->mode == Mode::kPermit) ++permits;
    if (MayShare(name->mode, own_name->mode)) continue;
    Violate(absl::StrCat("granted while ", child, " is in front"));
  }
  if (own_name->mode == Mode::kPermit && permits > contestant.spec.permits) {
    Violate("granted a permit too many");
  }
}

// Whoever is granted after one that vanished has waited.
void MachineWorld::CheckDelay(const Contestant& contestant) {
  if (last_granted_ < 0 || contestant.delayed) return;
  const Contestant& before = contestants_[last_granted_];
  if (!before.told_to_leave && !HasLiveNode(before)) Violate("granted without the lock delay");
}

void MachineWorld::CheckExclusion() {
  for (size_t i = 0; i < contestants_.size(); ++i) {
    const Contestant& a = contestants_[i];
    if (Believes(a) && a.session != clients_[a.client].session) {
      Violate(absl::StrCat("contestant ", i, " holds a lease of a session that is over"));
    }
    if (!Believes(a) || !HasLiveNode(a)) continue;
    for (size_t j = 0; j < i; ++j) {
      const Contestant& b = contestants_[j];
      if (MayShare(a.spec.mode, b.spec.mode) || !Believes(b) || !HasLiveNode(b)) continue;
      if (a.followed == static_cast<int>(j)) continue;  // of one owner
      Violate(absl::StrCat("contestants ", j, " and ", i, " hold the lock at once"));
    }
  }
}

// Nobody waits whose turn it is.
void MachineWorld::CheckPermits() {
  for (size_t i = 0; i < contestants_.size(); ++i) {
    const Contestant& c = contestants_[i];
    if (c.spec.permits == 0 || c.granted || c.told_to_leave || c.finished) continue;
    const std::vector<std::string> own = NodesOf(static_cast<int>(i));
    if (own.empty()) continue;
    const int32_t sequence = queue::machine::ParseNodeName(zk::NodeName(own.front()))->sequence;
    size_t permits = 0;
    size_t others = 0;
    for (const std::string& child : ensemble_.committed().Children(c.spec.parent)) {
      const auto name = queue::machine::ParseNodeName(child);
      if (name && name->sequence < sequence) ++(name->mode == Mode::kPermit ? permits : others);
    }
    if (others > 0 || permits >= c.spec.permits) continue;
    Violate(absl::StrCat("contestant ", i, " waits for a permit that is free"));
  }
}

void MachineWorld::CheckQuiet() {
  for (size_t i = 0; i < contestants_.size(); ++i) {
    if (!Believes(contestants_[i]) || HasLiveNode(contestants_[i])) continue;
    Violate(absl::StrCat("contestant ", i, " is never told that its node is gone"));
  }
  CheckPermits();
  size_t watchers = 0;
  for (const Client& client : clients_) {
    watchers += client.watchers.size();
    for (const auto& [id, watcher] : client.watchers) {
      if (contestants_[watcher.first].finished) Violate("the watch of one that is done is left");
    }
  }
  if (ensemble_.watches() > watchers) Violate("a watch that no client needs is left on a server");
}

void MachineWorld::CheckEnd() {
  for (size_t i = 0; i < contestants_.size(); ++i) {
    if (!contestants_[i].finished) {
      Violate(absl::StrCat("contestant ", i, " waits for ever"));
    } else if (!NodesOf(static_cast<int>(i)).empty()) {
      Violate(absl::StrCat("contestant ", i, " left a node behind"));
    }
  }
  if (ensemble_.watches() > 0) Violate("a watch is left on a server");
  for (const Client& client : clients_) {
    if (!client.table.empty() || !client.watchers.empty()) Violate("a watcher is left in a client");
  }
}

}  // namespace zkrecipes::explore

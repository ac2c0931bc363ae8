// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/model_world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include <gtest/gtest.h>

#include "lib/zk/path.h"

namespace zkrecipes::queue {
namespace {

bool Contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// By its last ten digits: the model's trees are far from overflow.
int64_t SequenceOf(const std::string& name) {
  int64_t sequence = -1;
  EXPECT_TRUE(absl::SimpleAtoi(name.substr(name.size() - 10), &sequence)) << name;
  return sequence;
}

}  // namespace

// ---- what a contender does ---------------------------------------------------------------------

// Carries out one contestant's actions, and checks them.
class ModelWorld::Doing {
 public:
  Doing(ModelWorld& world, int contestant)
      : world_(world),
        index_(contestant),
        contestant_(world.contestants_[contestant]),
        client_(world.clients_[contestant_.client]) {}

  void operator()(const action::Send& a) {
    EXPECT_TRUE(client_.connected) << "sent without a connection";
    Sent sent{index_, a.op, a.request};
    EXPECT_GT(a.op, contestant_.last_op);
    contestant_.last_op = a.op;
    if (const auto* watch = std::get_if<zk::WatchNode>(&a.request)) {
      sent.watcher = ++world_.last_watcher_;
      client_.table.Add(watch->path, sent.watcher);
      client_.watchers[sent.watcher] = {index_, watch->path};
    }
    client_.wire.push_back(std::move(sent));
  }

  void operator()(const action::Unwatch& a) {
    for (auto it = client_.watchers.begin(); it != client_.watchers.end(); ++it) {
      if (it->second.contestant != index_ || it->second.path != a.path) continue;
      const session::WatcherId id = it->first;
      client_.watchers.erase(it);
      if (client_.table.Remove(a.path, id)) world_.RemoveServerWatch(client_, a.path);
      return;
    }
  }

  void operator()(const action::StartRetryTimer&) { contestant_.retry_due = true; }
  void operator()(const action::StartOwnWatchTimer&) { contestant_.own_watch_due = true; }

  void operator()(const action::Granted& a) {
    EXPECT_FALSE(contestant_.granted) << "granted twice";
    EXPECT_FALSE(contestant_.told_to_leave) << "granted after Leave";
    EXPECT_TRUE(client_.connected);
    EXPECT_EQ(a.session, client_.session);
    EXPECT_TRUE(Contains(contestant_.seen, zk::NodeName(a.node))) << "granted an unlisted node";
    contestant_.granted = true;
    const auto node = world_.server_.tree().find(a.node);
    if (node == world_.server_.tree().end()) return;  // it will hear of that: its session is gone
    EXPECT_EQ(node->second.czxid, a.token);
    EXPECT_EQ(node->second.owner, client_.session);
    world_.ExpectNobodyInFront(contestant_, a.node);
  }

  void operator()(const action::LeaseLost&) {
    EXPECT_TRUE(contestant_.granted && !contestant_.told_to_leave && !contestant_.lost);
    contestant_.lost = true;
  }

  void operator()(const action::PlaceLost&) {
    EXPECT_FALSE(contestant_.granted || contestant_.told_to_leave);
  }

  void operator()(const action::LeaveRefused&) { ADD_FAILURE() << "nobody refused anything"; }

  void operator()(const action::Finished& a) {
    contestant_.finished = true;
    contestant_.outcome = a.outcome;
    EXPECT_EQ(contestant_.lost, a.outcome == Outcome::kLost);
    EXPECT_TRUE(world_.NodesInTree(contestant_).empty()) << "finished with a node in the tree";
    EXPECT_FALSE(world_.MayStillBeCreated(contestant_)) << "finished with a create on its way";
  }

 private:
  ModelWorld& world_;
  const int index_;
  Contestant& contestant_;
  Client& client_;
};

void ModelWorld::Feed(int contestant, const Event& event) {
  Contestant& c = contestants_[contestant];
  for (const Action& action : c.machine.On(event)) {
    EXPECT_FALSE(c.finished) << "did something after it was finished";
    std::visit(Doing(*this, contestant), action);
  }
}

void ModelWorld::FeedAll(int client, const Event& event) {
  for (int i = 0; i < contestants(); ++i) {
    if (contestants_[i].client == client) Feed(i, event);
  }
}

void ModelWorld::FeedConnected(int contestant) {
  Contestant& c = contestants_[contestant];
  c.guids.push_back(absl::StrFormat("%032x", ++last_guid_));
  Feed(contestant, event::Connected{clients_[c.client].session, c.guids.back()});
}

std::vector<std::string> ModelWorld::NodesInTree(const Contestant& contestant) const {
  std::vector<std::string> nodes;
  for (const auto& [path, node] : server_.tree()) {
    const auto name = ParseNodeName(zk::NodeName(path));
    if (name && Contains(contestant.guids, name->guid)) nodes.push_back(path);
  }
  return nodes;
}

bool ModelWorld::MayStillBeCreated(const Contestant& contestant) const {
  const Client& client = clients_[contestant.client];
  const auto creates_for_it = [&contestant](const zk::Request& request) {
    const auto* create = std::get_if<zk::Create>(&request);
    return create != nullptr &&
           std::any_of(contestant.guids.begin(), contestant.guids.end(),
                       [&](const auto& guid) { return absl::StrContains(create->path, guid); });
  };
  return std::any_of(client.late.begin(), client.late.end(), creates_for_it) ||
         std::any_of(client.wire.begin(), client.wire.end(),
                     [&](const Sent& sent) { return creates_for_it(sent.request); });
}

void ModelWorld::ExpectNobodyInFront(const Contestant& contestant, const std::string& node) const {
  const std::string own = zk::NodeName(node);
  for (const std::string& child : server_.Children(contestant.spec.parent)) {
    const bool may_pass =
        contestant.spec.mode == Mode::kShared && absl::StrContains(child, "-__READ__");
    EXPECT_FALSE(SequenceOf(child) < SequenceOf(own) && !may_pass)
        << own << " was granted while " << child << " was in front";
  }
}

// ---- beginning and end -------------------------------------------------------------------------

int ModelWorld::AddClient() {
  clients_.emplace_back();
  return clients() - 1;
}

int ModelWorld::Enter(int client, const ContenderSpec& spec) {
  contestants_.push_back(Contestant{Contender(spec), spec, client});
  if (clients_[client].connected) FeedConnected(contestants() - 1);
  return contestants() - 1;
}

bool ModelWorld::SettleOnce() {
  bool any = false;
  for (int i = 0; i < clients(); ++i) {
    if (clients_[i].connected && !server_.Alive(clients_[i].session)) any |= Drop(i);
    any |= ApplyLate(i) || Reconnect(i) || Deliver(i) || Execute(i);
  }
  for (int i = 0; i < contestants(); ++i) any |= Retry(i) || WatchOwnNode(i);
  return any;
}

bool ModelWorld::Settle() {
  for (int step = 0; step < 2000; ++step) {
    if (!SettleOnce()) return true;
  }
  ADD_FAILURE() << "it never settles";
  return false;
}

void ModelWorld::EndQuietly() {
  bool any = true;
  while (any && Settle()) {
    any = false;
    for (int i = 0; i < contestants() && !any; ++i) {
      any = contestants_[i].machine.state() == Contender::State::kHeld && Leave(i);
    }
  }
  for (const Contestant& c : contestants_) {
    EXPECT_TRUE(c.finished) << "waits for ever in state " << static_cast<int>(c.machine.state());
    EXPECT_TRUE(NodesInTree(c).empty());
  }
  EXPECT_TRUE(server_.watches().empty()) << server_.watches().begin()->first << " is watched";
  for (const Client& client : clients_) {
    EXPECT_TRUE(client.table.empty());
    EXPECT_TRUE(client.watchers.empty());
  }
}

}  // namespace zkrecipes::queue

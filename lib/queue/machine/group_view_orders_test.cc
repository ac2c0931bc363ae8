// SPDX-License-Identifier: Apache-2.0
//
// What a GroupView tells in any order of events, and how often it looks.

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_format.h"
#include <gtest/gtest.h>

#include "lib/queue/machine/group_view.h"

namespace zkrecipes::queue::machine::grouping {
namespace {

using zk::Code;
using zk::WatchEvent;

std::string NodeOf(int member) {
  return absl::StrFormat("_c_guid%011d-member-%010d", member, member);
}

// A server whose nodes change at any moment, between any two of the requests that wait there, and a
// connection that is lost now and then. The member "a" hands over from node to node, and is always
// there; others come and go.
class RandomGroup {
 public:
  explicit RandomGroup(unsigned seed) : random_(seed) { Create("a"); }

  void Step() {
    switch (random_() % 12) {
      case 0:
        return Create("a");
      case 1:
        return Create("b");
      case 2:
        return Delete();
      case 3:
        return random_() % 8 == 0 ? Disconnect() : void();
      case 4:
        return Connect();
      case 5:
        return EndPause();
      default:
        random_() % 2 == 0 ? Execute() : Deliver();
    }
  }
  void CalmDown() {
    Connect();
    for (int i = 0; i < 1000; ++i) {
      Execute();
      Deliver();
      EndPause();
    }
    ASSERT_TRUE(told_.has_value() && told_->connected);
    std::map<std::string, std::string> seen;
    for (const ListedNode& node : told_->nodes) seen[node.name] = node.data;
    EXPECT_EQ(seen, nodes_);
  }

 private:
  void Create(const std::string& id) {
    nodes_[NodeOf(++next_)] = id;
    Change();
  }
  void Delete() {
    const auto gone = std::next(nodes_.begin(), static_cast<long>(random_() % nodes_.size()));
    const bool last = std::ranges::count(nodes_, gone->second, &Node::second) == 1;
    if (gone->second == "a" && last) return;
    nodes_.erase(gone);
    Change();
  }
  void Change() {
    if (armed_ != 0)
      events_.push_back(event::Fired{std::exchange(armed_, 0), WatchEvent::kChanged});
  }
  void Disconnect() {
    if (!std::exchange(connected_, false)) return;
    requests_.clear();
    events_.clear();
    armed_ = 0;
    On(event::Disconnected{});
    if (random_() % 2 == 0) On(event::Expired{});
  }
  void Connect() {
    if (!std::exchange(connected_, true)) On(event::Connected{});
  }
  void EndPause() {
    if (pause_ != 0) On(event::PauseOver{std::exchange(pause_, 0)});
  }
  // The server answers the oldest request.
  void Execute() {
    if (requests_.empty()) return;
    const Action request = requests_.front();
    requests_.pop_front();
    zk::Reply reply;
    OpId op = 0;
    if (const auto* watch = std::get_if<action::Watch>(&request)) {
      armed_ = op = watch->op;
      for (const auto& [name, id] : nodes_) reply.children.emplace_back(name);
    } else {
      const auto& send = std::get<action::Send>(request);
      op = send.op;
      const auto node = nodes_.find(zk::PathOf(send.request).substr(3));
      reply.code = node == nodes_.end() ? Code::kNoNode : Code::kOk;
      if (node != nodes_.end()) reply.data = node->second;
      reply.stat.czxid = 7;
    }
    events_.push_back(event::Replied{op, std::move(reply)});
  }
  void Deliver() {
    if (events_.empty()) return;
    const Event event = events_.front();
    events_.pop_front();
    On(event);
  }
  void On(const Event& event) {
    for (const Action& action : view_.On(event)) {
      if (std::holds_alternative<action::Watch>(action) ||
          std::holds_alternative<action::Send>(action)) {
        requests_.push_back(action);
      }
      if (const auto* unwatch = std::get_if<action::Unwatch>(&action)) {
        if (armed_ == unwatch->op) armed_ = 0;
      }
      if (const auto* started = std::get_if<action::StartPause>(&action)) pause_ = started->op;
      if (const auto* tell = std::get_if<action::Tell>(&action)) Hear(*tell);
    }
  }
  void Hear(const action::Tell& tell) {
    EXPECT_TRUE(std::ranges::count(tell.nodes, "a", &ListedNode::data) > 0)
        << "it was always there";
    if (!tell.connected) {
      ASSERT_TRUE(told_.has_value());
      EXPECT_TRUE(tell.nodes == told_->nodes) << "not the last view";
    }
    told_ = tell;
  }

  using Node = std::map<std::string, std::string>::value_type;

  std::mt19937 random_;
  GroupView view_{"/g"};
  std::map<std::string, std::string> nodes_;
  int next_ = 0;
  bool connected_ = false;
  std::deque<Action> requests_;
  std::deque<Event> events_;
  OpId armed_ = 0;
  OpId pause_ = 0;
  std::optional<action::Tell> told_;
};

TEST(GroupViews, AreTrueInAnyOrderOfEvents) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    RandomGroup group(seed);
    for (int step = 0; step < 300; ++step) group.Step();
    group.CalmDown();
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
}

TEST(GroupPauses, GrowWithTheGroup) {
  EXPECT_EQ(MostPause(0), absl::Milliseconds(100));
  EXPECT_EQ(MostPause(100), absl::Seconds(2));
  EXPECT_EQ(MostPause(100000), absl::Seconds(4));
}

// Looks of one watcher while the members restart one after another, one a second, each away for
// half of it. Answers take no time, and each pause three quarters of the longest.
int LooksOfARollingRestart(int members) {
  const absl::Duration away = absl::Milliseconds(500);
  GroupView view("/g");
  absl::Duration now;
  std::vector<int> nodes;
  for (int i = 1; i <= members; ++i) nodes.push_back(i);
  int next = members;
  int looks = 0;
  OpId watch = 0;
  OpId pause = 0;
  absl::Duration pause_over = absl::InfiniteDuration();
  const auto on = [&](auto& self, const Event& event) -> void {
    for (const Action& action : view.On(event)) {
      if (const auto* watching = std::get_if<action::Watch>(&action)) {
        ++looks;
        watch = watching->op;
        zk::Names names;
        for (const int node : nodes) names.push_back(NodeOf(node));
        self(self, event::Replied{watch, {.children = std::move(names)}});
      }
      if (const auto* send = std::get_if<action::Send>(&action)) {
        self(self, event::Replied{send->op, {.data = "x"}});
      }
      if (const auto* started = std::get_if<action::StartPause>(&action)) {
        pause = started->op;
        pause_over = now + started->longest * 0.75;
      }
    }
  };
  on(on, event::Connected{});
  looks = 0;
  for (int change = 0; change < 2 * members; ++change) {
    const absl::Duration then = absl::Seconds(10) + away * double(change);
    while (pause_over <= then) {
      now = std::exchange(pause_over, absl::InfiniteDuration());
      on(on, event::PauseOver{pause});
    }
    now = then;
    change % 2 == 0 ? void(nodes.erase(nodes.begin())) : nodes.push_back(++next);
    on(on, event::Fired{watch, WatchEvent::kChanged});
  }
  return looks;
}

TEST(GroupPauses, BoundTheLooksOfARollingRestart) {
  EXPECT_LE(LooksOfARollingRestart(10), 20);
  EXPECT_LE(LooksOfARollingRestart(100), 75);    // of 200 changes
  EXPECT_LE(LooksOfARollingRestart(1000), 345);  // of 2,000
}

}  // namespace
}  // namespace zkrecipes::queue::machine::grouping

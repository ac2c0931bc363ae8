// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/group_view.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include <gtest/gtest.h>

namespace zkrecipes::queue::machine::grouping {
namespace {

using zk::Code;
using zk::WatchEvent;
using State = GroupView::State;

std::string Member(int number) {
  return absl::StrFormat("_c_guid%011d-member-%010d", number, number);
}
std::string Last(const std::string& path) { return path.substr(path.size() - 1); }

struct ActionText {
  std::string operator()(const action::Send& a) const {
    return absl::StrCat(zk::OperationName(a.request), " ", Last(zk::PathOf(a.request)));
  }
  std::string operator()(const action::Watch& a) const {
    return a.watch.kind == zk::WatchKind::kExists ? "watch path" : "watch children";
  }
  std::string operator()(const action::Unwatch&) const { return "unwatch"; }
  std::string operator()(const action::StartRetryTimer&) const { return "retry"; }
  std::string operator()(const action::StartPause& a) const {
    return "pause " + absl::FormatDuration(a.longest);
  }
  std::string operator()(const action::Tell& a) const {
    std::string text = a.connected ? "tell:" : "cut off:";
    for (const ListedNode& node : a.nodes) absl::StrAppend(&text, " ", Last(node.name), node.data);
    return text;
  }
  std::string operator()(const action::Fail& a) const { return "fail " + zk::CodeName(a.code); }
};

// Plays the session. Nodes are named by their last digit.
class GroupViewTest : public ::testing::Test {
 protected:
  std::string On(const Event& event) {
    std::vector<std::string> texts;
    for (const Action& action : view_.On(event)) {
      if (const auto* send = std::get_if<action::Send>(&action)) {
        asked_[Last(zk::PathOf(send->request))] = send->op;
      }
      if (const auto* watch = std::get_if<action::Watch>(&action)) watched_ = watch->op;
      if (const auto* pause = std::get_if<action::StartPause>(&action)) pause_ = pause->op;
      texts.push_back(std::visit(ActionText(), action));
    }
    return absl::StrJoin(texts, ", ");
  }
  std::string Connect() { return On(event::Connected{}); }
  std::string Listed(zk::Names children) {
    return On(event::Replied{watched_, {.children = std::move(children)}});
  }
  std::string Watched(Code code) { return On(event::Replied{watched_, {.code = code}}); }
  std::string Read(const std::string& node, const std::string& data) {
    return On(event::Replied{asked_.at(node), {.stat = {.czxid = 7}, .data = data}});
  }
  std::string Read(const std::string& node, Code code) {
    return On(event::Replied{asked_.at(node), {.code = code}});
  }
  std::string Fired(WatchEvent what = WatchEvent::kChanged) {
    return On(event::Fired{watched_, what});
  }
  std::string PauseOver() { return On(event::PauseOver{pause_}); }

  void CalmDown() {
    ASSERT_EQ(PauseOver(), "pause 100ms");
    ASSERT_EQ(PauseOver(), "");
  }
  // Two members are told, and it is calm.
  void SeeTwo() {
    Connect();
    Listed({Member(1), Member(2)});
    Read("1", "a");
    ASSERT_EQ(Read("2", "b"), "tell: 1a 2b, pause 50ms");
    CalmDown();
  }
  // The next look after a calm.
  void Look() {
    ASSERT_EQ(Fired(), "pause 20ms");
    ASSERT_EQ(PauseOver(), "watch children");
  }

  GroupView view_{"/g"};
  std::map<std::string, OpId> asked_;
  OpId watched_ = 0;
  OpId pause_ = 0;
};

TEST_F(GroupViewTest, TellsOnceAllThatIsListedIsRead) {
  EXPECT_EQ(Connect(), "watch children");
  EXPECT_EQ(Listed({Member(2), "other", Member(1)}), "get 2, get 1");
  EXPECT_EQ(Read("1", "a"), "");
  EXPECT_EQ(Read("2", "b"), "tell: 1a 2b, pause 50ms");
}

TEST_F(GroupViewTest, TellsOfNobodyWhereNobodyIs) {
  Connect();
  EXPECT_EQ(Listed({}), "tell:, pause 50ms");
}

TEST_F(GroupViewTest, ReadsOnlyNewcomers) {
  SeeTwo();
  Look();
  EXPECT_EQ(Listed({Member(2), Member(3)}), "get 3");
  EXPECT_EQ(Read("3", "c"), "tell: 2b 3c, pause 50ms");
}

// Its id may be that of a node which came after the listing.
TEST_F(GroupViewTest, LooksAgainBeforeItTellsIfOneHasGoneBeforeItWasRead) {
  Connect();
  Listed({Member(1), Member(2)});
  Read("1", Code::kNoNode);
  EXPECT_EQ(Read("2", "b"), "pause 50ms");
  EXPECT_EQ(Fired(), "");
  EXPECT_EQ(PauseOver(), "watch children");
  EXPECT_EQ(Listed({Member(2), Member(3)}), "get 3");
  EXPECT_EQ(Read("3", "a"), "tell: 2b 3a, pause 100ms");
}

TEST_F(GroupViewTest, IsCutOffWithTheLastViewAndNotWithWhatItReads) {
  SeeTwo();
  Look();
  Listed({Member(3), Member(4)});
  Read("4", "d");
  EXPECT_EQ(On(event::Disconnected{}), "cut off: 1a 2b");
}

TEST_F(GroupViewTest, TellsOfAMemberThatMayNotBeRead) {
  Connect();
  Listed({Member(1)});
  EXPECT_EQ(Read("1", Code::kNoAuth), "tell: 1, pause 50ms");
}

TEST_F(GroupViewTest, LooksAtChangesTogether) {
  SeeTwo();
  EXPECT_EQ(Fired(), "pause 20ms");
  EXPECT_EQ(PauseOver(), "watch children");
  EXPECT_EQ(Listed({Member(1)}), "tell: 1a, pause 50ms");
  EXPECT_EQ(Fired(), "") << "the pause ends with a look";
  EXPECT_EQ(PauseOver(), "watch children");
  EXPECT_EQ(Listed({}), "tell:, pause 100ms");
  CalmDown();
  Look();
  EXPECT_EQ(Listed({}), "tell:, pause 50ms") << "it was calm";
}

TEST_F(GroupViewTest, TakesTheTimeBetweenLooksForNoCalm) {
  SeeTwo();
  Look();
  EXPECT_EQ(Listed({Member(1)}), "tell: 1a, pause 50ms");
  EXPECT_EQ(PauseOver(), "pause 100ms");
  Look();
  EXPECT_EQ(Listed({}), "tell:, pause 100ms");
}

TEST_F(GroupViewTest, LooksAgainAtWhatChangesWhileItReads) {
  Connect();
  Listed({Member(1)});
  EXPECT_EQ(Fired(), "");
  EXPECT_EQ(Read("1", "a"), "tell: 1a, pause 50ms");
  EXPECT_EQ(PauseOver(), "watch children");
}

TEST_F(GroupViewTest, WaitsForAPathThatIsNotThere) {
  Connect();
  EXPECT_EQ(Watched(Code::kNoNode), "watch path, unwatch");
  EXPECT_EQ(Watched(Code::kNoNode), "tell:, pause 50ms");
  EXPECT_EQ(Fired(WatchEvent::kNodeData), "");
  EXPECT_EQ(PauseOver(), "watch children");
}

TEST_F(GroupViewTest, LooksIfThePathWasMadeMeanwhile) {
  Connect();
  Watched(Code::kNoNode);
  EXPECT_EQ(Watched(Code::kOk), "watch children, unwatch");
}

TEST_F(GroupViewTest, ForgetsThoseOfAPathThatHasGone) {
  SeeTwo();
  EXPECT_EQ(Fired(WatchEvent::kDeleted), "pause 20ms");
  EXPECT_EQ(PauseOver(), "watch children");
  EXPECT_EQ(Watched(Code::kNoNode), "watch path, unwatch");
  EXPECT_EQ(Watched(Code::kNoNode), "tell:, pause 50ms");
}

TEST_F(GroupViewTest, SaysThatItIsCutOffAndLooksOnceItIsNot) {
  SeeTwo();
  EXPECT_EQ(On(event::Disconnected{}), "cut off: 1a 2b");
  EXPECT_EQ(On(event::Expired{}), "") << "it has been said";
  EXPECT_EQ(Connect(), "pause 100ms") << "with all others";
  EXPECT_EQ(PauseOver(), "watch children");
  EXPECT_EQ(Listed({Member(2)}), "get 2") << "a new session, where it may be allowed to read more";
  EXPECT_EQ(Read("2", "c"), "tell: 2c, pause 50ms");
}

TEST_F(GroupViewTest, ReadsAgainWhatItMightNotReadBefore) {
  Connect();
  Listed({Member(1), Member(2)});
  Read("1", Code::kNoAuth);
  EXPECT_EQ(Read("2", "b"), "tell: 1 2b, pause 50ms");
  On(event::Disconnected{});
  Connect();
  EXPECT_EQ(PauseOver(), "watch children, unwatch");
  EXPECT_EQ(Listed({Member(1), Member(2)}), "get 1");
  EXPECT_EQ(Read("1", "a"), "tell: 1a 2b, pause 100ms");
}

TEST_F(GroupViewTest, HasOneWatchAfterAReconnection) {
  SeeTwo();
  On(event::Disconnected{});
  EXPECT_EQ(Connect(), "pause 100ms");
  EXPECT_EQ(PauseOver(), "watch children, unwatch");
}

TEST_F(GroupViewTest, IgnoresAnswersFromBeforeAReconnection) {
  Connect();
  Listed({Member(1)});
  On(event::Disconnected{});
  Connect();
  EXPECT_EQ(Read("1", "a"), "");
  EXPECT_EQ(view_.state(), State::kLooking);
}

TEST_F(GroupViewTest, TriesAgainWhatMayGoWell) {
  Connect();
  EXPECT_EQ(Watched(Code::kOperationTimeout), "unwatch, retry");
  EXPECT_EQ(On(event::RetryDue{}), "watch children");
  Listed({Member(1)});
  EXPECT_EQ(Read("1", Code::kConnectionLoss), "retry");
  EXPECT_EQ(On(event::RetryDue{}), "watch children, unwatch");
}

TEST_F(GroupViewTest, EndsWithARefusal) {
  Connect();
  EXPECT_EQ(Watched(Code::kNoAuth), "unwatch, fail ZNOAUTH");
  EXPECT_EQ(Connect(), "");
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
    nodes_[Member(++next_)] = id;
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
        for (const int node : nodes) names.push_back(Member(node));
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

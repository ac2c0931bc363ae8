// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/group_view.h"

#include <map>
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

}  // namespace
}  // namespace zkrecipes::queue::machine::grouping

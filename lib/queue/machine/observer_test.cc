// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/observer.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include <gtest/gtest.h>

namespace zkrecipes::queue::machine::observing {
namespace {

using zk::Code;
using zk::WatchEvent;
using State = Observer::State;

const char kFirst[] = "_c_00000000-0000-0000-0000-00000000000a-latch-0000000001";
const char kSecond[] = "_c_00000000-0000-0000-0000-00000000000b-latch-0000000002";

std::string Last(const std::string& path) { return path.substr(path.size() - 1); }

struct ActionText {
  std::string operator()(const action::Send& a) const {
    return absl::StrCat(zk::OperationName(a.request), " ", Last(zk::PathOf(a.request)));
  }
  std::string operator()(const action::Watch& a) const {
    const bool exists = a.watch.kind == zk::WatchKind::kExists;
    return absl::StrCat(exists ? "watch node " : "watch children ", Last(a.watch.path));
  }
  std::string operator()(const action::Unwatch&) const { return "unwatch"; }
  std::string operator()(const action::StartRetryTimer&) const { return "pause"; }
  std::string operator()(const action::Tell& a) const {
    if (!a.head.has_value()) return "tell: nobody";
    return absl::StrCat("tell: ", Last(a.head->name), " ", a.head->data);
  }
  std::string operator()(const action::Fail& a) const { return "fail " + zk::CodeName(a.code); }
};

// Plays the session: nodes are named by their last digit, "q" is the parent.
class ObserverTest : public ::testing::Test {
 protected:
  std::string On(const Event& event) {
    std::vector<std::string> texts;
    for (const Action& action : observer_.On(event)) {
      if (const auto* send = std::get_if<action::Send>(&action)) asked_ = send->op;
      if (const auto* watch = std::get_if<action::Watch>(&action)) watched_ = watch->op;
      texts.push_back(std::visit(ActionText(), action));
    }
    return absl::StrJoin(texts, ", ");
  }
  std::string Connect() { return On(event::Connected{}); }
  // Connects, and what it asks for is answered.
  std::string See(zk::Names children) {
    Connect();
    return Listed(std::move(children));
  }
  std::string Listed(zk::Names children) {
    return On(event::Replied{asked_, {.children = std::move(children)}});
  }
  std::string Answered(Code code) { return On(event::Replied{asked_, {.code = code}}); }
  std::string Read(const std::string& data, int64_t czxid = 1) {
    zk::Reply reply{.data = data};
    reply.stat.czxid = czxid;
    return On(event::Replied{asked_, reply});
  }
  std::string ArmedAndRead(const std::string& data, int64_t czxid = 1) {
    EXPECT_EQ(Armed(), "");
    return Read(data, czxid);
  }
  std::string Armed(Code code = Code::kOk) { return On(event::Replied{watched_, {.code = code}}); }
  std::string Fired(WatchEvent what) { return On(event::Fired{watched_, what}); }

  void Follow() {
    See({kSecond, kFirst, "other"});
    ASSERT_EQ(ArmedAndRead("a"), "tell: 1 a");
    ASSERT_EQ(observer_.state(), State::kFollowing);
  }
  void Vacate() {
    See({});
    Armed();
    ASSERT_EQ(Listed({"other"}), "tell: nobody");
    ASSERT_EQ(observer_.state(), State::kVacant);
  }

  Observer observer_{"/q"};
  OpId asked_ = 0;
  OpId watched_ = 0;
};

TEST_F(ObserverTest, WatchesTheFirstBeforeItReadsIt) {
  EXPECT_EQ(Connect(), "get children q");
  EXPECT_EQ(Listed({kSecond, kFirst, "other"}), "watch node 1, get 1");
  EXPECT_EQ(ArmedAndRead("a"), "tell: 1 a");
}

TEST_F(ObserverTest, ReadsTheLeaderAgainWhenItsDataWasSet) {
  Follow();
  EXPECT_EQ(Fired(WatchEvent::kNodeData), "watch node 1, get 1");
  EXPECT_EQ(ArmedAndRead("b"), "tell: 1 b");
}

TEST_F(ObserverTest, LooksForTheNextWhenTheLeaderGoes) {
  Follow();
  EXPECT_EQ(Fired(WatchEvent::kDeleted), "get children q");
  EXPECT_EQ(Listed({kSecond}), "watch node 2, get 2");
  EXPECT_EQ(ArmedAndRead("b", 2), "tell: 2 b");
}

TEST_F(ObserverTest, WatchesTheChildrenOnlyWhileThereIsNobody) {
  EXPECT_EQ(Connect(), "get children q");
  EXPECT_EQ(Listed({"other"}), "watch children q, get children q");
  EXPECT_EQ(Armed(), "");
  EXPECT_EQ(Listed({}), "tell: nobody");
  EXPECT_EQ(Fired(WatchEvent::kChanged), "get children q");
  EXPECT_EQ(Listed({kFirst}), "watch node 1, get 1");
}

TEST_F(ObserverTest, FindsOneWhoCameBeforeTheChildrenWereWatched) {
  See({});
  Armed();
  EXPECT_EQ(Listed({kFirst}), "watch node 1, unwatch, get 1");
}

TEST_F(ObserverTest, WaitsForAParentThatIsNotThere) {
  Connect();
  EXPECT_EQ(Answered(Code::kNoNode), "watch node q");
  EXPECT_EQ(Armed(Code::kNoNode), "tell: nobody");
  EXPECT_EQ(Fired(WatchEvent::kNodeData), "get children q");
  EXPECT_EQ(Listed({}), "watch children q, get children q");
  Armed();
  EXPECT_EQ(Listed({}), "tell: nobody");
  EXPECT_EQ(Fired(WatchEvent::kDeleted), "get children q");
  EXPECT_EQ(Answered(Code::kNoNode), "watch node q");
  EXPECT_EQ(Armed(Code::kNoNode), "tell: nobody");
}

TEST_F(ObserverTest, SeesAParentThatCameInBetween) {
  Connect();
  Answered(Code::kNoNode);
  EXPECT_EQ(Armed(Code::kOk), "get children q");
  EXPECT_EQ(Listed({kFirst}), "watch node 1, unwatch, get 1");
}

TEST_F(ObserverTest, WaitsForAParentThatWentInBetween) {
  See({});
  EXPECT_EQ(Armed(Code::kNoNode), "");
  EXPECT_EQ(Answered(Code::kNoNode), "watch node q");
}

TEST_F(ObserverTest, LooksAgainWhenTheLeaderWentBeforeItWasRead) {
  See({kFirst, kSecond});
  EXPECT_EQ(Armed(Code::kNoNode), "");
  EXPECT_EQ(Answered(Code::kNoNode), "get children q");
  EXPECT_EQ(Listed({kSecond}), "watch node 2, unwatch, get 2");
}

// Or a leader that proclaims all the time would never be told of.
TEST_F(ObserverTest, TellsWhatItReadThoughTheWatchHasFiredAndLooksAgain) {
  See({kFirst});
  Armed();
  EXPECT_EQ(Fired(WatchEvent::kNodeData), "");
  EXPECT_EQ(Read("a"), "tell: 1 a, get children q");
}

TEST_F(ObserverTest, TellsOfANewTermOfTheSameNameAndValue) {
  Follow();
  Fired(WatchEvent::kDeleted);
  Listed({kFirst});
  EXPECT_EQ(ArmedAndRead("a", 2), "tell: 1 a");
}

TEST_F(ObserverTest, SaysNothingOfALostConnectionAndLooksAgain) {
  Follow();
  EXPECT_EQ(On(event::Disconnected{}), "");
  EXPECT_EQ(Connect(), "get children q");
  EXPECT_EQ(Listed({kFirst}), "watch node 1, unwatch, get 1");
  EXPECT_EQ(ArmedAndRead("a"), "tell: 1 a");
  EXPECT_EQ(Fired(WatchEvent::kDeleted), "get children q");
}

TEST_F(ObserverTest, IgnoresAnswersThatWereLostWithTheConnection) {
  See({kFirst});
  On(event::Disconnected{});
  EXPECT_EQ(Armed(Code::kConnectionLoss), "");
  EXPECT_EQ(Answered(Code::kConnectionLoss), "");
  EXPECT_EQ(Connect(), "get children q");
  EXPECT_EQ(Listed({kFirst}), "watch node 1, get 1");
}

TEST_F(ObserverTest, HearsOfANewLeaderThroughANewSession) {
  Follow();
  EXPECT_EQ(On(event::Expired{}), "");
  EXPECT_EQ(Connect(), "get children q");
  EXPECT_EQ(Listed({kSecond}), "watch node 2, get 2");
  EXPECT_EQ(ArmedAndRead("b", 2), "tell: 2 b");
}

TEST_F(ObserverTest, PausesAfterAnAnswerThatAnotherTimeMayBeBetter) {
  Connect();
  EXPECT_EQ(Answered(Code::kThrottled), "pause");
  EXPECT_EQ(On(event::RetryDue{}), "get children q");
  EXPECT_EQ(On(event::RetryDue{}), "");
}

TEST_F(ObserverTest, AWatchThatCouldNotBeSetIsTriedAgain) {
  See({kFirst});
  EXPECT_EQ(Armed(Code::kThrottled), "pause");
  EXPECT_EQ(Read("a"), "");  // of a look that was given up
  EXPECT_EQ(On(event::RetryDue{}), "get children q");
}

TEST_F(ObserverTest, EndsWithAnErrorThatStays) {
  Follow();
  Fired(WatchEvent::kNodeData);
  EXPECT_EQ(Answered(Code::kNoAuth), "unwatch, fail ZNOAUTH");
  EXPECT_EQ(Connect(), "");
  EXPECT_EQ(On(event::Disconnected{}), "");
  EXPECT_EQ(On(event::Expired{}), "");
  EXPECT_EQ(observer_.state(), State::kFailed);
}

TEST_F(ObserverTest, WatchesAnEmptyQueueAnewAfterAReconnection) {
  Vacate();
  On(event::Disconnected{});
  EXPECT_EQ(Connect(), "get children q");
  EXPECT_EQ(Listed({}), "watch children q, unwatch, get children q");
  Armed();
  EXPECT_EQ(Listed({}), "tell: nobody");
}

TEST_F(ObserverTest, PausesAfterEachAnswerThatTellsNothingAboutTheQueue) {
  Connect();
  for (const Code code : {Code::kConnectionLoss, Code::kOperationTimeout, Code::kSessionMoved,
                          Code::kSessionExpired, Code::kThrottled}) {
    EXPECT_EQ(Answered(code), "pause") << zk::CodeName(code);
    EXPECT_EQ(On(event::RetryDue{}), "get children q");
  }
}

}  // namespace
}  // namespace zkrecipes::queue::machine::observing

// SPDX-License-Identifier: Apache-2.0

#include "lib/session/machine/expiry_bound.h"

#include <initializer_list>
#include <utility>

#include <gtest/gtest.h>

namespace zkrecipes::session::machine {
namespace {

base::BootTime At(double seconds) {
  return base::BootTime::SinceBoot(absl::Seconds(1000) + absl::Seconds(seconds));
}

// With a timeout of 11 s and a rate bound of 0.1 a touch proves 10 s, less the slack of 0.5 s; the
// leader's pings are 2 s apart, by the client's clock if that is the faster one.
class ExpiryBoundTest : public ::testing::Test {
 protected:
  static constexpr double kProves = 9.5;

  void ConnectNew(double began, double now) {
    bound_.Connected(At(began), At(now), absl::Seconds(11), /*new_session=*/true);
  }
  void Reconnect(double began, double now, double timeout = 11) {
    bound_.Disconnected();
    bound_.Connected(At(began), At(now), absl::Seconds(timeout), /*new_session=*/false);
  }
  // A session of which nothing is proven any more.
  void ConnectUnproven(double began, double now) {
    ConnectNew(began, now);
    bound_.Restart();
    Reconnect(began, now);
  }
  // Unproven, and touched: of two touches the earlier is taken to have arrived.
  void TouchTwice() {
    ConnectUnproven(-20, 0);
    Touch(0.5, 0.6);
    Touch(1, 1.2);
  }
  void Touch(double sent, double answered) { Answer(sent, answered, false); }
  void Write(double sent, double answered) { Answer(sent, answered, true); }
  // One after another, each {sent, answered}.
  void Writes(std::initializer_list<std::pair<double, double>> writes) {
    for (const auto& [sent, answered] : writes) Write(sent, answered);
  }
  // A new session that writes once; what is proven ends at kProves.
  void ConnectAndWrite() {
    ConnectNew(0, 0.1);
    Write(0.2, 0.3);
  }
  void Answer(double sent, double answered, bool committed) {
    bound_.Answered(bound_.Sent(At(sent)), At(answered), committed);
  }
  void ExpectDeadline(double seconds) {
    ASSERT_TRUE(bound_.deadline().has_value());
    EXPECT_EQ(*bound_.deadline(), At(seconds));
  }
  void ExpectUnproven() { EXPECT_FALSE(bound_.deadline().has_value()); }

  ExpiryBound bound_{{.clock_rate_bound = 0.1,
                      .ping_gap = absl::Seconds(2) / 1.1 - absl::Nanoseconds(1),
                      .slack = absl::Milliseconds(500)}};
};

TEST_F(ExpiryBoundTest, ANewSessionIsProvenFromWhenItsClientBeganToConnect) {
  ConnectNew(0, 1);
  ExpectDeadline(0 + kProves);
}

TEST_F(ExpiryBoundTest, AReadProvesNothing) {
  ConnectNew(0, 1);
  for (int i = 1; i < 8; ++i) Touch(i, i + 0.1);
  ExpectDeadline(0 + kProves);
}

TEST_F(ExpiryBoundTest, AWriteAnsweredAtTheDeadlineIsTooLateToGoOnFrom) {
  ConnectNew(0, 1);
  Write(1, 9.5);
  ExpectUnproven();
}

TEST_F(ExpiryBoundTest, ATouchCountsOnceAWriteSentAPingGapAfterItsAnswerIsFollowedByAnother) {
  TouchTwice();
  Write(3.2, 3.3);  // a ping of the leader came between 1.2 and this write's commit
  ExpectUnproven();
  Write(3.3, 3.4);  // it lives, and what the ping fetched had arrived before
  ExpectUnproven();
  Write(3.5, 3.6);  // and it was not about to end then
  ExpectDeadline(0.5 + kProves);
}

TEST_F(ExpiryBoundTest, AnUnprovenSessionMayHaveBeenAboutToEndAMomentAgo) {
  TouchTwice();
  Writes({{3.2, 3.3}, {3.3, 3.4}, {3.49, 3.5}});  // within a tenth of a second
  ExpectUnproven();
  Write(3.5, 3.6);
  ExpectDeadline(0.5 + kProves);
}

TEST_F(ExpiryBoundTest, AProvenSessionWasNotAboutToEnd) {
  ConnectNew(0, 0.1);
  Touch(0.5, 0.6);
  Touch(1, 1.2);
  Writes({{3.2, 3.3}, {3.3, 3.4}});
  ExpectDeadline(0.5 + kProves);
}

TEST_F(ExpiryBoundTest, WhatTheLeaderHadHeardTooLongAgoProvesNothing) {
  TouchTwice();
  Writes({{3.2, 3.3}, {3.3, 3.4}});
  Touch(7, 7.1);
  Touch(8, 8.1);
  Writes({{10.3, 10.4}, {10.5, 10.6}});  // ships them; but of 0.5 alone it may have lived until 10
  ExpectUnproven();
  Write(10.7, 10.8);
  ExpectDeadline(7 + kProves);
}

TEST_F(ExpiryBoundTest, ATouchDoesNotCountBeforeThePingGapIsOver) {
  TouchTwice();
  Writes({{3.19, 3.3}, {3.3, 3.4}});
  // Only the handshake and the first touch are old enough, and the handshake is far away.
  ExpectUnproven();
}

TEST_F(ExpiryBoundTest, TheConfirmingWriteMustBeSentAfterTheAnswerOfTheOneBefore) {
  TouchTwice();
  const ExpiryBound::Request first = bound_.Sent(At(3.2));
  const ExpiryBound::Request second = bound_.Sent(At(3.25));  // both stuck on a link that stalls
  bound_.Answered(first, At(8), true);
  bound_.Answered(second, At(8), true);
  ExpectUnproven();
  Writes({{8, 8.1}, {8.2, 8.3}});
  ExpectDeadline(0.5 + kProves);
}

TEST_F(ExpiryBoundTest, WhatWasSentAtTheInstantOfAnAnswerButBeforeItDoesNotFollowIt) {
  ConnectNew(0, 0);
  Touch(1, 1.1);
  Touch(2, 2.1);
  const ExpiryBound::Request first = bound_.Sent(At(5));
  const ExpiryBound::Request second = bound_.Sent(At(6));
  bound_.Answered(first, At(6), true);
  bound_.Answered(second, At(6), true);
  ExpectDeadline(0 + kProves);
  Write(6, 6);
  ExpectDeadline(1 + kProves);
}

TEST_F(ExpiryBoundTest, OneTouchBeforeIsTakenSinceAServerMayDropOne) {
  ConnectUnproven(-20, 0);
  Touch(1, 1.2);  // with the handshake this makes two
  Writes({{3.2, 3.3}, {3.3, 3.4}});
  ExpectUnproven();  // from the handshake, 20 s ago
}

TEST_F(ExpiryBoundTest, BeatsAloneKeepItProven) {
  ConnectNew(0, 0.1);
  for (int i = 0; i < 100; ++i) Write(0.2 + i, 0.3 + i);
  // Confirmed at 99.2 by what was shipped at 98.2: touches answered until 96.2, less one.
  ExpectDeadline(94.2 + kProves);
}

TEST_F(ExpiryBoundTest, NeverShrinksByLaterAnswers) {
  ConnectNew(2, 2.1);
  Touch(2.2, 2.3);
  Writes({{4.4, 4.5}, {4.6, 4.7}});
  ExpectDeadline(2 + kProves);
}

TEST_F(ExpiryBoundTest, AReconnectionIsATouchOfTheLeaderItself) {
  ConnectAndWrite();
  Reconnect(7, 7.5);
  ExpectDeadline(0 + kProves);  // unchanged by the reconnection alone
  Write(7.6, 7.7);
  ExpectDeadline(7 + kProves);
}

TEST_F(ExpiryBoundTest, AReconnectionAfterTheDeadlineNeedsNewEvidence) {
  ConnectAndWrite();
  Reconnect(9, 9.4);
  Write(9.4, 9.5);  // answered at the deadline: the leader may have been about to close it
  ExpectUnproven();
  Writes({{11.6, 11.7}, {11.8, 11.9}, {12, 12.1}});
  ExpectDeadline(9 + kProves);  // the handshake, as a touch like any other
}

TEST_F(ExpiryBoundTest, AnswersOfTheConnectionOfBeforeCountForNothing) {
  TouchTwice();
  Write(3.2, 3.3);
  const ExpiryBound::Request old = bound_.Sent(At(3.4));
  Reconnect(4, 4.1);
  bound_.Answered(old, At(4.2), true);
  ExpectUnproven();
}

TEST_F(ExpiryBoundTest, AfterARestartTheTouchesSinceTheHandshakeCountButNotTheHandshakeAlone) {
  ConnectNew(-1, -1);
  Write(-1, -1);
  Reconnect(0, 0.1);
  bound_.Restart();
  ExpectUnproven();
  Write(0.4, 0.5);
  ExpectUnproven();
  Touch(1, 1.1);
  Writes({{3.2, 3.3}, {3.4, 3.5}, {3.6, 3.7}});
  ExpectDeadline(0.4 + kProves);
}

TEST_F(ExpiryBoundTest, TheSmallestTimeoutOfASessionCounts) {
  ConnectAndWrite();
  Reconnect(2, 2.1, /*timeout=*/5.5);
  ExpectDeadline(2 + 4.5);  // the leader counts from the handshake on
  Reconnect(3, 3.1, /*timeout=*/11);
  Write(3.2, 3.3);
  ExpectDeadline(3 + 4.5);
}

TEST_F(ExpiryBoundTest, ANewSessionOwesNothingToTheOneBefore) {
  ConnectAndWrite();
  Reconnect(2, 2.1, /*timeout=*/5.5);
  ConnectNew(20, 20.1);
  ExpectDeadline(20 + kProves);
}

TEST_F(ExpiryBoundTest, WithoutAPingGapTakesAQuarterOfTheTimeoutAndATenthOfASecond) {
  ExpiryBound clock(ExpiryMargins{});
  clock.Connected(At(0), At(0), absl::Seconds(4), /*new_session=*/true);
  EXPECT_EQ(ExpiryMargins{}.PingGap(clock.timeout()), absl::Seconds(1.1));
}

TEST_F(ExpiryBoundTest, AsksForAWriteAtOnceWhenThatProvesWhatIsUnproven) {
  TouchTwice();
  EXPECT_FALSE(bound_.NextWriteHelps(At(3), absl::Seconds(1)));
  Write(3.2, 3.3);
  EXPECT_TRUE(bound_.NextWriteHelps(At(3.3), absl::Seconds(1)));
  Write(3.3, 3.4);
  EXPECT_FALSE(bound_.NextWriteHelps(At(3.4), absl::Seconds(1)));  // a moment has to pass
  EXPECT_EQ(bound_.ProvableFrom(), At(3.5));
  EXPECT_TRUE(bound_.NextWriteHelps(At(3.5), absl::Seconds(1)));
  Write(3.5, 3.6);
  EXPECT_FALSE(bound_.NextWriteHelps(At(3.6), absl::Seconds(1)));
  EXPECT_EQ(bound_.ProvableFrom(), std::nullopt) << "it is proven";
}

TEST_F(ExpiryBoundTest, ATouchWhoseTimeIsOverIsNothingToGoOnFrom) {
  TouchTwice();
  Write(3.2, 3.3);
  Write(0.5 + kProves, 0.6 + kProves);
  EXPECT_EQ(bound_.ProvableFrom(), std::nullopt);
  EXPECT_FALSE(bound_.NextWriteHelps(At(0.6 + kProves), absl::Seconds(1)));
}

}  // namespace
}  // namespace zkrecipes::session::machine

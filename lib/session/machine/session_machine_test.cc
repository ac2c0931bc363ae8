// SPDX-License-Identifier: Apache-2.0
//
// From one session to the next, and to the close.

#include "lib/session/machine/session_machine.h"

#include <gtest/gtest.h>

#include "lib/session/machine/session_machine_test_script.h"

namespace zkrecipes::session {
namespace {

using State = SessionMachine::State;

// ---- to a first session ------------------------------------------------------------------------

TEST(SessionMachine, ResolvesThenConnectsThenAnnouncesItsSession) {
  Story s;
  EXPECT_EQ(s.On(event::Start{}), "resolve");
  EXPECT_EQ(s.On(event::Resolved{}), "open");
  EXPECT_EQ(s.On(event::Connected{7}), "up 7");
  EXPECT_EQ(s.state(), State::kConnected);
  EXPECT_TRUE(s.machine.connected());
  EXPECT_EQ(s.machine.session(), 7);
}

TEST(SessionMachine, PausesWhenNamesCannotBeResolvedAndTriesAgain) {
  Story s = Resolving();
  EXPECT_EQ(s.On(event::ResolveFailed{}), "pause 1");
  EXPECT_EQ(s.state(), State::kPausing);
  EXPECT_EQ(s.On(event::PauseOver{}), "resolve");
}

TEST(SessionMachine, PausesWhenNoHandleCanBeOpened) {
  Story s = Connecting();
  EXPECT_EQ(s.On(event::ResolveFailed{}), "pause 1");
  EXPECT_EQ(s.On(event::PauseOver{}), "resolve");
}

TEST(SessionMachine, PausesLongerWithEachFailureInARow) {
  Story s = Pausing();
  s.On(event::PauseOver{});
  EXPECT_EQ(s.On(event::ResolveFailed{}), "pause 2");
}

TEST(SessionMachine, ForgetsFailuresOnceConnected) {
  Story s = Pausing();
  s.On(event::PauseOver{});
  s.On(event::Resolved{});
  s.On(event::Connected{7});
  s.On(event::HandleEnded{kExpired});
  EXPECT_EQ(s.On(event::ResolveFailed{}), "pause 1");
}

TEST(SessionMachine, ResolvesAgainAfterThreeRoundsWithoutASession) {
  Story s = Connecting();
  EXPECT_EQ(s.On(event::Disconnected{kThreeRounds - 1}), "");
  EXPECT_EQ(s.On(event::Disconnected{kThreeRounds}), "close handle, pause 1");
  EXPECT_EQ(s.On(event::PauseOver{}), "resolve");
}

TEST(SessionMachine, PausesWhenItIsTurnedAwayWithoutEverHavingASession) {
  Story s = Connecting();
  EXPECT_EQ(s.On(event::HandleEnded{kExpired}), "close handle, pause 1");
  EXPECT_EQ(s.On(event::PauseOver{}), "resolve");
}

// ---- connection and session lost ---------------------------------------------------------------

TEST(SessionMachine, KeepsTheSessionWhenTheConnectionIsLost) {
  Story s = Connected();
  EXPECT_EQ(s.On(event::Disconnected{1}), "down");
  EXPECT_EQ(s.state(), State::kSuspended);
  EXPECT_FALSE(s.machine.connected());
  EXPECT_EQ(s.machine.session(), 7);
}

TEST(SessionMachine, AnnouncesALossOfConnectionOnce) {
  Story s = Suspended();
  EXPECT_EQ(s.On(event::Disconnected{2}), "");
}

// The session may be alive: its leases and places are worth waiting for.
TEST(SessionMachine, NeverGivesUpASessionForFailedAttempts) {
  Story s = Suspended();
  EXPECT_EQ(s.On(event::Disconnected{100}), "");
  EXPECT_EQ(s.state(), State::kSuspended);
}

TEST(SessionMachine, LooksWhetherTheServersHaveMovedOnceASessionHasLapsed) {
  Story s = Suspended();
  EXPECT_EQ(s.On(event::Disconnected{kThreeRounds, false}), "");
  EXPECT_EQ(s.On(event::Disconnected{kThreeRounds + 1, true}), "");
  EXPECT_EQ(s.On(event::Disconnected{2 * kThreeRounds, true}), "resolve");
  EXPECT_EQ(s.On(event::Resolved{false}), "");
  EXPECT_EQ(s.On(event::ResolveFailed{}), "");
  EXPECT_EQ(s.state(), State::kSuspended);
}

TEST(SessionMachine, GivesUpALapsedSessionWhoseServersHaveMoved) {
  Story s = Suspended();
  s.On(event::Disconnected{kThreeRounds, true});
  EXPECT_EQ(s.On(event::Resolved{true}), "close handle, lost, open");
  EXPECT_EQ(s.state(), State::kConnecting);
  EXPECT_EQ(s.machine.session(), 0);
}

TEST(SessionMachine, KeepsASessionThatCameBackBeforeTheServersWereSeenToHaveMoved) {
  Story s = Suspended();
  s.On(event::Disconnected{kThreeRounds, true});
  s.On(event::Connected{s.machine.session()});
  EXPECT_EQ(s.On(event::Resolved{true}), "");
  EXPECT_EQ(s.state(), State::kConnected);
}

TEST(SessionMachine, ResumesItsSession) {
  Story s = Suspended();
  EXPECT_EQ(s.On(event::Connected{7}), "up again 7");
  EXPECT_EQ(s.state(), State::kConnected);
}

TEST(SessionMachine, StartsANewSessionWhenOneHasExpired) {
  Story s = Suspended();
  EXPECT_EQ(s.On(event::HandleEnded{kExpired}), "close handle, lost, resolve");
  EXPECT_EQ(s.machine.session(), 0);
  EXPECT_EQ(s.On(event::Resolved{}), "open");
  EXPECT_EQ(s.On(event::Connected{8}), "up 8");
}

TEST(SessionMachine, HearsOfExpiryWhileConnected) {
  Story s = Connected();
  EXPECT_EQ(s.On(event::HandleEnded{kExpired}), "close handle, lost, resolve");
  EXPECT_FALSE(s.machine.connected());
}

// ClickHouse Keeper may give a new session without a word.
TEST(SessionMachine, TakesAnotherSessionsIdForALossOfItsOwn) {
  Story s = Suspended();
  EXPECT_EQ(s.On(event::Connected{8}), "lost, up 8");
  EXPECT_EQ(s.machine.session(), 8);
}

TEST(SessionMachine, GivesUpForGoodWhenItsCredentialsAreRefused) {
  Story s = Connecting();
  EXPECT_EQ(s.On(event::HandleEnded{kAuthFailed}), "close handle, failed ZAUTHFAILED");
  EXPECT_EQ(s.state(), State::kFailed);
  EXPECT_EQ(s.On(event::PauseOver{}), "");
  EXPECT_EQ(s.On(event::Start{}), "");
}

TEST(SessionMachine, LosesItsSessionWhenItsCredentialsAreRefusedLater) {
  Story s = Suspended();
  EXPECT_EQ(s.On(event::HandleEnded{kAuthFailed}), "close handle, lost, failed ZAUTHFAILED");
}

// ---- close -------------------------------------------------------------------------------------

TEST(SessionMachine, DrainsThenClosesItsHandle) {
  Story s = Connected();
  EXPECT_EQ(s.On(event::CloseRequested{}), "drain");
  EXPECT_TRUE(s.machine.connected());
  EXPECT_EQ(s.On(event::Drained{}), "close handle, closed");
  EXPECT_FALSE(s.machine.connected());
  EXPECT_EQ(s.machine.session(), 0);
}

TEST(SessionMachine, ClosesFromAnyState) {
  for (const Story& from : {Fresh(), Resolving(), Pausing(), Failed()}) {
    Story s = from;
    EXPECT_EQ(s.On(event::CloseRequested{}), "drain");
    EXPECT_EQ(s.On(event::Drained{}), "closed");
  }
  for (const Story& from : {Connecting(), Connected(), Suspended()}) {
    Story s = from;
    EXPECT_EQ(s.On(event::CloseRequested{}), "drain");
    EXPECT_EQ(s.On(event::Drained{}), "close handle, closed");
  }
}

TEST(SessionMachine, ComesBackWhileItDrains) {
  Story s = Closing(Connected());
  EXPECT_EQ(s.On(event::Disconnected{1}), "down");
  EXPECT_EQ(s.On(event::Connected{7}), "up again 7");
  EXPECT_EQ(s.state(), State::kClosing);
  EXPECT_TRUE(s.machine.connected());
}

TEST(SessionMachine, StartsNoNewSessionWhileItDrains) {
  Story s = Closing(Suspended());
  EXPECT_EQ(s.On(event::HandleEnded{kExpired}), "close handle, lost");
  EXPECT_EQ(s.On(event::Drained{}), "closed");
}

TEST(SessionMachine, OpensNothingWhenNamesAreResolvedAfterClose) {
  Story s = Closing(Resolving());
  EXPECT_EQ(s.On(event::Resolved{}), "");
  EXPECT_EQ(s.On(event::ResolveFailed{}), "");
  Story paused = Closing(Pausing());
  EXPECT_EQ(paused.On(event::PauseOver{}), "");
}

TEST(SessionMachine, ClosesOnce) {
  Story s = Closing(Connected());
  EXPECT_EQ(s.On(event::CloseRequested{}), "");
  s.On(event::Drained{});
  EXPECT_EQ(s.On(event::CloseRequested{}), "");
  EXPECT_EQ(s.On(event::Drained{}), "");
}

TEST(SessionMachine, IsDrainedOnlyWhenClosing) {
  Story s = Connected();
  EXPECT_EQ(s.On(event::Drained{}), "");
  EXPECT_EQ(s.state(), State::kConnected);
}

}  // namespace
}  // namespace zkrecipes::session

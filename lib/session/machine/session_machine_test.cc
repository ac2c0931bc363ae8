// SPDX-License-Identifier: Apache-2.0
//
// From one session to the next, and to the close.

#include "lib/session/machine/session_machine.h"

#include <gtest/gtest.h>

#include "lib/session/machine/session_machine_test_script.h"

namespace zkrecipes::session::machine {
namespace {

using State = SessionMachine::State;

// ---- to a first session ------------------------------------------------------------------------

TEST(SessionMachine, ResolvesThenConnectsThenAnnouncesItsSession) {
  SessionScript s;
  EXPECT_EQ(s.On({event::Start{}, event::Resolved{}, event::Connected{7}}),
            "resolve | open | connected 7");
  EXPECT_EQ(s.state(), State::kConnected);
  EXPECT_TRUE(s.machine.connected());
  EXPECT_EQ(s.machine.session(), 7);
}

TEST(SessionMachine, PausesWheneverNamesCannotBeResolvedAndTriesAgain) {
  SessionScript s = Resolving();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(s.On({event::ResolveFailed{}}), "pause");
    EXPECT_EQ(s.state(), State::kPausing);
    EXPECT_EQ(s.On({event::PauseOver{}}), "resolve");
  }
}

TEST(SessionMachine, PausesWhenNoHandleCanBeOpened) {
  EXPECT_EQ(Connecting().On({event::OpenFailed{}, event::PauseOver{}}), "pause | resolve");
}

TEST(SessionMachine, ResolvesAgainAfterARoundWithoutASession) {
  SessionScript s = Connecting();
  EXPECT_EQ(s.On({event::Disconnected{kRound - 1}}), "");
  EXPECT_EQ(s.On({event::Disconnected{kRound}}), "resolve");
  EXPECT_EQ(s.On({event::Disconnected{2 * kRound}}), "") << "one at a time";
  EXPECT_EQ(s.On({event::Resolved{}}), "set servers");
  EXPECT_EQ(s.On({event::Disconnected{3 * kRound}, event::ResolveFailed{}}), "resolve | ");
  EXPECT_EQ(s.state(), State::kConnecting);
}

TEST(SessionMachine, ARoundOverOneNameIsThreeAttemptsBecauseItMayStandForSeveralServers) {
  SessionScript s = After({SessionMachine(1)}, {event::Start{}, event::Resolved{}});
  EXPECT_EQ(s.On({event::Disconnected{1}, event::Disconnected{2}}), " | ");
  EXPECT_EQ(s.On({event::Disconnected{3}}), "resolve");
}

TEST(SessionMachine, PausesWhenItIsTurnedAwayWithoutEverHavingASession) {
  EXPECT_EQ(Connecting().On({event::HandleEnded{kExpired}, event::PauseOver{}}),
            "close handle, pause | resolve");
}

// ---- connection and session lost ---------------------------------------------------------------

TEST(SessionMachine, KeepsTheSessionWhenTheConnectionIsLost) {
  SessionScript s = Connected();
  EXPECT_EQ(s.On({event::Disconnected{0}}), "disconnected, resolve");
  EXPECT_EQ(s.state(), State::kSuspended);
  EXPECT_FALSE(s.machine.connected());
  EXPECT_EQ(s.machine.session(), 7);
}

// The session may be alive: its leases and places are worth waiting for.
TEST(SessionMachine, NeverGivesUpASessionForFailedAttempts) {
  SessionScript s = Suspended();
  EXPECT_EQ(s.On({event::Disconnected{100}}), "");
  EXPECT_EQ(s.state(), State::kSuspended);
}

TEST(SessionMachine, FollowsTheNamesFromTheLossOnAndAfterEachRound) {
  SessionScript s = Connected();
  EXPECT_EQ(s.On({event::Disconnected{0}, event::Resolved{}}),
            "disconnected, resolve | set servers");
  EXPECT_EQ(s.On({event::Disconnected{kRound - 1}, event::Disconnected{kRound}}), " | resolve");
  EXPECT_EQ(s.On({event::ResolveFailed{}, event::Disconnected{2 * kRound}}), " | resolve");
  EXPECT_EQ(s.On({event::Resolved{}}), "set servers");
  EXPECT_EQ(s.state(), State::kSuspended);
  EXPECT_EQ(s.machine.session(), 7);
}

TEST(SessionMachine, AnAnswerThatComesOnceItIsConnectedAgainEndsNoConnection) {
  SessionScript s = After(Connected(), {event::Disconnected{0}});
  EXPECT_EQ(s.On({event::Connected{7}, event::Resolved{}}), "connected again 7 | set servers");
  EXPECT_EQ(s.state(), State::kConnected);
}

TEST(SessionMachine, LeavesAServerOnlyOnceAllChangedNamesAreAnswered) {
  SessionScript s = After(Connected(), {event::ServersChanged{2}});
  EXPECT_EQ(s.On({event::Resolved{.complete = false}, event::Resolved{}}),
            "set servers | set servers, leave others");
}

TEST(SessionMachine, LeavesNoServerWhileANameIsUnsureAndAsksAgain) {
  SessionScript s = After(Connected(), {event::ServersChanged{2}});
  EXPECT_EQ(s.On({event::Resolved{.unsure = true}, event::PauseOver{}, event::Resolved{}}),
            "set servers, pause | resolve | set servers, leave others");
}

TEST(SessionMachine, TakesAnAnswerInParts) {
  SessionScript s = Resolving();
  EXPECT_EQ(s.On({event::Resolved{}, event::Resolved{}}), "open | set servers");
}

TEST(SessionMachine, ResumesItsSession) {
  SessionScript s = Suspended();
  EXPECT_EQ(s.On({event::Connected{7}}), "connected again 7");
  EXPECT_EQ(s.state(), State::kConnected);
}

TEST(SessionMachine, StartsANewSessionWhenOneHasExpired) {
  SessionScript s = Suspended();
  EXPECT_EQ(s.On({event::HandleEnded{kExpired}}), "close handle, expired, resolve");
  EXPECT_EQ(s.machine.session(), 0);
  EXPECT_EQ(s.On({event::Resolved{}, event::Connected{8}}), "open | connected 8");
}

TEST(SessionMachine, HearsOfExpiryWhileConnected) {
  SessionScript s = Connected();
  EXPECT_EQ(s.On({event::HandleEnded{kExpired}}), "close handle, expired, resolve");
  EXPECT_FALSE(s.machine.connected());
}

// ClickHouse Keeper may give a new session without a word.
TEST(SessionMachine, TakesAnotherSessionsIdForALossOfItsOwn) {
  SessionScript s = Suspended();
  EXPECT_EQ(s.On({event::Connected{8}}), "expired, connected 8");
  EXPECT_EQ(s.machine.session(), 8);
}

TEST(SessionMachine, GivesUpForGoodIfItIsRefusedAtOnceOrLaterByEveryServer) {
  const struct {
    zk::Code why;
    const char* failed;
  } cases[] = {
      {kAuthFailed, "close handle, failed ZAUTHFAILED"},
      {zk::Code::kCredentialsRequired, "close handle, failed ZSESSIONCLOSEDREQUIRESASLAUTH"},
      {zk::Code::kKeeper, "close handle, failed CLICKHOUSE_KEEPER"}};
  for (const auto& [why, failed] : cases) {
    EXPECT_EQ(Connecting().On({event::HandleEnded{why}}), failed);
    SessionScript s =
        After(Connected(), {event::HandleEnded{kExpired}, event::PauseOver{}, event::Resolved{}});
    for (int i = 0; i < 2 * kServers; ++i) {  // one of them, again and again
      EXPECT_EQ(s.On({event::HandleEnded{why}, event::PauseOver{}, event::Resolved{}}),
                "close handle, pause | resolve | open");
    }
    EXPECT_EQ(s.On({event::HandleEnded{why, /*served=*/false, /*by_every=*/true}}), failed);
    EXPECT_EQ(s.state(), State::kFailed);
  }
}

TEST(SessionMachine, OneServerThatRefusesItInEachRoundEndsNothing) {
  SessionScript s = Connecting();
  for (int i = 0; i < 2 * kServers; ++i) {
    s.On({event::Connected{7 + i}, event::HandleEnded{kExpired}, event::Resolved{}});
    s.On({event::HandleEnded{zk::Code::kKeeper}, event::PauseOver{}, event::Resolved{}});
    EXPECT_EQ(s.state(), State::kConnecting);
  }
}

// As where servers begin to ask for credentials: the other servers are asked first, and their words
// are those for which it is given up.
TEST(SessionMachine, AServedSessionThatIsTurnedAwayAsksEveryServer) {
  SessionScript s = Suspended();
  EXPECT_EQ(s.On({event::HandleEnded{zk::Code::kCredentialsRequired, /*served=*/true}}),
            "close handle, expired, pause");
  EXPECT_EQ(s.On({event::PauseOver{}, event::Resolved{}}), "resolve | open");
  EXPECT_EQ(s.On({event::HandleEnded{zk::Code::kCredentialsRequired, false, /*by_every=*/true}}),
            "close handle, failed ZSESSIONCLOSEDREQUIRESASLAUTH");
}

TEST(SessionMachine, StaysGivenUp) {
  SessionScript s = Failed();
  EXPECT_EQ(s.On({event::PauseOver{}, event::Start{}}), " | ");
}

TEST(SessionMachine, BeginsAnewAfterAPauseIfItIsTriedAgain) {
  EXPECT_EQ(Failed().On({event::TriedAgain{}, event::TriedAgain{}, event::PauseOver{},
                         event::Resolved{}, event::Connected{8}}),
            "pause |  | resolve | open | connected 8");
  for (SessionScript other : {Fresh(), Connecting(), Connected(), Suspended(), Closing(Failed())}) {
    EXPECT_EQ(other.On({event::TriedAgain{}}), "");
  }
}

TEST(SessionMachine, OfAClientThatGoesOnIsRefusedByEveryServerOrNotForGood) {
  const event::HandleEnded by_one{.why = kAuthFailed, .goes_on = true};
  SessionScript s = Connecting();
  EXPECT_EQ(s.On({by_one}), "close handle, pause");
  s.On({event::PauseOver{}, event::Resolved{}});
  event::HandleEnded by_every = by_one;
  by_every.by_every = true;
  EXPECT_EQ(SessionScript(s).On({by_every}), "close handle, failed ZAUTHFAILED");
  EXPECT_EQ(s.On({event::HandleEnded{kAuthFailed}}), "close handle, failed ZAUTHFAILED")
      << "the client does not go on any more";
}

TEST(SessionMachine, LosesItsSessionWhenItsCredentialsAreRefusedLater) {
  EXPECT_EQ(Suspended().On({event::HandleEnded{kAuthFailed}}),
            "close handle, expired, failed ZAUTHFAILED");
}

// ---- other servers -----------------------------------------------------------------------------

TEST(SessionMachine, GivesItsHandleTheChangedServersOnceTheyAreResolved) {
  for (SessionScript s : {Connecting(), Connected(), Suspended()}) {
    const SessionMachine before = s.machine;
    EXPECT_EQ(s.On({event::ServersChanged{5}}), "resolve");
    EXPECT_EQ(s.On({event::Resolved{}, event::Resolved{}}),
              "set servers, leave others | set servers");
    EXPECT_EQ(s.state(), before.state());
    EXPECT_EQ(s.machine.session(), before.session());
  }
}

TEST(SessionMachine, GoesOnWithTheServersBeforeUntilTheChangedOnesAreResolved) {
  SessionScript s = After(Connected(), {event::ServersChanged{1}});
  EXPECT_EQ(s.On({event::ResolveFailed{}, event::PauseOver{}, event::Disconnected{0}}),
            "pause | resolve | disconnected");
  EXPECT_EQ(s.On({event::ResolveFailed{}, event::PauseOver{}, event::Resolved{}}),
            "pause | resolve | set servers, leave others");
}

TEST(SessionMachine, ResolvesTheLatestListWhereverItHasNone) {
  EXPECT_EQ(Resolving().On({event::ServersChanged{5}, event::Resolved{}}), "resolve | open");
  for (SessionScript s : {Fresh(), Pausing(), Failed(), Closed(Connected())}) {
    EXPECT_EQ(s.On({event::ServersChanged{5}, event::ResolveFailed{}}), " | ");
  }
}

TEST(SessionMachine, CountsARoundByTheChangedServers) {
  SessionScript s = After(Connecting(), {event::ServersChanged{5}, event::Resolved{}});
  EXPECT_EQ(s.On({event::Disconnected{4}}), "");
  EXPECT_EQ(s.On({event::Disconnected{5}}), "resolve");
}

TEST(SessionMachine, OpensTheNextHandleWithTheChangedServersAtOnce) {
  SessionScript s = After(Suspended(), {event::ServersChanged{5}});
  EXPECT_EQ(s.On({event::HandleEnded{kExpired}, event::Resolved{}, event::Resolved{}}),
            "close handle, expired, resolve | open | set servers");
}

TEST(SessionMachine, TakesNoOtherServersOnceItCloses) {
  EXPECT_EQ(Closing(Suspended()).On({event::ServersChanged{5}, event::Resolved{}}), " | ");
}

// ---- close -------------------------------------------------------------------------------------

TEST(SessionMachine, DrainsThenEndsItsSessionThenClosesItsHandle) {
  SessionScript s = Connected();
  EXPECT_EQ(s.On({event::CloseRequested{}}), "drain");
  EXPECT_TRUE(s.machine.connected());
  EXPECT_EQ(s.On({event::Drained{}}), "end session");
  EXPECT_TRUE(s.machine.connected());
  EXPECT_EQ(s.On({event::EndAnswered{true}}), "close handle, closed");
  EXPECT_FALSE(s.machine.connected());
  EXPECT_EQ(s.machine.session(), 0);
}

TEST(SessionMachine, ClosesAtOnceWithoutASession) {
  for (SessionScript s : {Fresh(), Resolving(), Pausing(), Failed()}) {
    EXPECT_EQ(s.On({event::CloseRequested{}, event::Drained{}}), "drain | closed");
  }
  EXPECT_EQ(Connecting().On({event::CloseRequested{}, event::Drained{}}),
            "drain | close handle, closed");
}

TEST(SessionMachine, ASessionThatWasGivenUpIsNotConfirmedAsEnded) {
  const SessionScript given_up =
      After(Suspended(), {event::HandleEnded{zk::Code::kSessionRefused}, event::Resolved{}});
  EXPECT_EQ(Closing(given_up).On({event::Drained{}}), "close handle, closed, unconfirmed");
  EXPECT_EQ(Closing(given_up).On({event::CloseTimeOver{}}), "close handle, closed, unconfirmed");
  EXPECT_EQ(Closing(After(given_up, {event::Connected{8}, event::HandleEnded{kExpired}}))
                .On({event::Drained{}}),
            "closed");
}

TEST(SessionMachine, AsksEachConnectionToEndTheSessionUntilOneAnswers) {
  SessionScript s = Closing(Suspended());
  EXPECT_EQ(s.On({event::Drained{}}), "");
  EXPECT_EQ(s.On({event::Connected{7}}), "connected again 7, end session");
  EXPECT_EQ(s.On({event::Disconnected{0}, event::EndAnswered{false}}), "disconnected | ");
  EXPECT_EQ(s.On({event::Connected{7}}), "connected again 7, end session");
  EXPECT_EQ(s.On({event::EndAnswered{true}}), "close handle, closed");
}

TEST(SessionMachine, IsClosedBySessionsEndAsByAnAnswer) {
  SessionScript s = After(Closing(Connected()), {event::Drained{}, event::Disconnected{0}});
  EXPECT_EQ(s.On({event::HandleEnded{kExpired}}), "close handle, expired, closed");
}

TEST(SessionMachine, ClosesUnconfirmedWhenItsTimeIsOver) {
  for (SessionScript s : {Closing(Connected()), After(Closing(Connected()), {event::Drained{}}),
                          After(Closing(Suspended()), {event::Drained{}})}) {
    EXPECT_EQ(s.On({event::CloseTimeOver{}}), "close handle, closed, unconfirmed");
    EXPECT_EQ(s.On({event::EndAnswered{true}, event::CloseTimeOver{}}), " | ");
  }
  EXPECT_EQ(Closing(Connecting()).On({event::CloseTimeOver{}}), "close handle, closed");
  EXPECT_EQ(Connected().On({event::CloseTimeOver{}}), "");
}

TEST(SessionMachine, EndsASessionThatIsNotNeededAndBeginsAnother) {
  SessionScript s = Connected();
  EXPECT_EQ(s.On({event::Unneeded{}, event::EndAnswered{true}}),
            "disconnected, end session | close handle, expired, resolve");
  EXPECT_EQ(s.state(), State::kResolving);
  for (SessionScript other : {Fresh(), Resolving(), Connecting(), Suspended(), Failed()}) {
    EXPECT_EQ(other.On({event::Unneeded{}}), "") << "there is none, or no connection";
  }
}

// The end may be under way to the leader, which heeds it whoever serves the session by then.
TEST(SessionMachine, NeverUsesASessionAgainWhoseEndWasAskedForAndNotAnswered) {
  SessionScript s = After(Connected(), {event::Unneeded{}});
  EXPECT_EQ(s.On({event::Disconnected{0}, event::EndAnswered{false}}),
            "resolve | close handle, expired, resolve");
  EXPECT_EQ(s.machine.session(), 0);
  EXPECT_EQ(Closing(s).On({event::Drained{}}), "closed, unconfirmed");
}

TEST(SessionMachine, IsClosedByTheAnswerToAnEarlierEnd) {
  SessionScript s = After(Connected(), {event::Unneeded{}, event::CloseRequested{}});
  EXPECT_EQ(s.On({event::EndAnswered{true}}), "close handle, closed");
}

TEST(SessionMachine, ComesBackWhileItDrains) {
  SessionScript s = Closing(Connected());
  EXPECT_EQ(s.On({event::Disconnected{1}, event::Connected{7}}),
            "disconnected | connected again 7");
  EXPECT_EQ(s.state(), State::kClosing);
  EXPECT_TRUE(s.machine.connected());
}

TEST(SessionMachine, StartsNoNewSessionWhileItDrains) {
  EXPECT_EQ(Closing(Suspended()).On({event::HandleEnded{kExpired}, event::Drained{}}),
            "close handle, expired | closed");
}

TEST(SessionMachine, OpensNothingWhenNamesAreResolvedAfterClose) {
  EXPECT_EQ(Closing(Resolving()).On({event::Resolved{}, event::ResolveFailed{}}), " | ");
  EXPECT_EQ(Closing(Pausing()).On({event::PauseOver{}}), "");
}

TEST(SessionMachine, ClosesOnce) {
  EXPECT_EQ(Closing(Connected()).On({event::CloseRequested{}}), "");
  EXPECT_EQ(Closed(Connected()).On({event::CloseRequested{}, event::Drained{}}), " | ");
}

TEST(SessionMachine, IsDrainedOnlyWhenClosing) {
  SessionScript s = Connected();
  EXPECT_EQ(s.On({event::Drained{}}), "");
  EXPECT_EQ(s.state(), State::kConnected);
}

}  // namespace
}  // namespace zkrecipes::session::machine

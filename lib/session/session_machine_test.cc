// SPDX-License-Identifier: Apache-2.0

#include "lib/session/session_machine.h"

#include <random>
#include <string>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/hash/hash_testing.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include <gtest/gtest.h>

namespace zkrecipes::session {
namespace {

using State = SessionMachine::State;
constexpr int kServers = 3;
constexpr int kThreeRounds = 3 * kServers;
constexpr zk::Code kExpired = zk::Code::kSessionExpired;
constexpr zk::Code kAuthFailed = zk::Code::kAuthFailed;

struct TextOf {
  std::string operator()(const action::Resolve&) const { return "resolve"; }
  std::string operator()(const action::OpenHandle&) const { return "open"; }
  std::string operator()(const action::CloseHandle&) const { return "close handle"; }
  std::string operator()(const action::StartPause& a) const {
    return absl::StrCat("pause ", a.attempt);
  }
  std::string operator()(const action::AnnounceUp& a) const {
    return absl::StrCat(a.resumed ? "up again " : "up ", a.session);
  }
  std::string operator()(const action::AnnounceDown&) const { return "down"; }
  std::string operator()(const action::AnnounceLost&) const { return "lost"; }
  std::string operator()(const action::AnnounceFailed& a) const {
    return absl::StrCat("failed ", zk::CodeName(a.why));
  }
  std::string operator()(const action::Drain&) const { return "drain"; }
  std::string operator()(const action::AnnounceClosed&) const { return "closed"; }
};

std::string Text(const Actions& actions) {
  return absl::StrJoin(actions, ", ", [](std::string* out, const Action& action) {
    out->append(std::visit(TextOf(), action));
  });
}

// A machine and what it did last, as text.
struct Story {
  SessionMachine machine{kServers};

  std::string On(const Event& event) { return Text(machine.On(event)); }
  State state() const { return machine.state(); }
};

Story Fresh() { return {}; }
Story Resolving() {
  Story s;
  s.On(event::Start{});
  return s;
}
Story Connecting() {
  Story s = Resolving();
  s.On(event::Resolved{});
  return s;
}
Story Pausing() {
  Story s = Resolving();
  s.On(event::ResolveFailed{});
  return s;
}
Story Connected() {
  Story s = Connecting();
  s.On(event::Connected{7});
  return s;
}
Story Suspended() {
  Story s = Connected();
  s.On(event::Disconnected{1});
  return s;
}
Story Failed() {
  Story s = Connecting();
  s.On(event::Ended{kAuthFailed});
  return s;
}
Story Closing(Story s) {
  s.On(event::CloseRequested{});
  return s;
}
Story Closed(Story s) {
  s.On(event::CloseRequested{});
  s.On(event::Drained{});
  return s;
}

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
  s.On(event::Ended{kExpired});
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
  EXPECT_EQ(s.On(event::Ended{kExpired}), "close handle, pause 1");
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
  EXPECT_EQ(s.On(event::Ended{kExpired}), "close handle, lost, resolve");
  EXPECT_EQ(s.machine.session(), 0);
  EXPECT_EQ(s.On(event::Resolved{}), "open");
  EXPECT_EQ(s.On(event::Connected{8}), "up 8");
}

TEST(SessionMachine, HearsOfExpiryWhileConnected) {
  Story s = Connected();
  EXPECT_EQ(s.On(event::Ended{kExpired}), "close handle, lost, resolve");
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
  EXPECT_EQ(s.On(event::Ended{kAuthFailed}), "close handle, failed ZAUTHFAILED");
  EXPECT_EQ(s.state(), State::kFailed);
  EXPECT_EQ(s.On(event::PauseOver{}), "");
  EXPECT_EQ(s.On(event::Start{}), "");
}

TEST(SessionMachine, LosesItsSessionWhenItsCredentialsAreRefusedLater) {
  Story s = Suspended();
  EXPECT_EQ(s.On(event::Ended{kAuthFailed}), "close handle, lost, failed ZAUTHFAILED");
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
  EXPECT_EQ(s.On(event::Ended{kExpired}), "close handle, lost");
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

// ---- every event in every state ----------------------------------------------------------------

std::vector<Event> EveryEvent() {
  return {event::Start{},          event::Resolved{},
          event::Resolved{true},   event::Disconnected{kThreeRounds, true},
          event::ResolveFailed{},  event::PauseOver{},
          event::Connected{7},     event::Connected{8},
          event::Disconnected{1},  event::Disconnected{kThreeRounds},
          event::Ended{kExpired},  event::Ended{kAuthFailed},
          event::CloseRequested{}, event::Drained{}};
}

TEST(SessionMachine, DoesNothingOnceClosed) {
  for (const Story& closed : {Closed(Fresh()), Closed(Connected()), Closed(Resolving())}) {
    for (const Event& event : EveryEvent()) {
      Story s = closed;
      EXPECT_EQ(s.On(event), "") << event.index();
      EXPECT_EQ(s.state(), State::kClosed) << event.index();
    }
  }
}

// What session.h may rely on, whatever comes: handles open and close in turn, a session is announced
// up before it is down or lost, and nothing follows the end.
class Watchman {
 public:
  void operator()(const action::Resolve&) {}
  void operator()(const action::StartPause&) {}
  void operator()(const action::Drain&) {}
  void operator()(const action::OpenHandle&) { EXPECT_FALSE(std::exchange(open_, true)); }
  void operator()(const action::CloseHandle&) { EXPECT_TRUE(std::exchange(open_, false)); }
  void operator()(const action::AnnounceUp& up) {
    EXPECT_TRUE(open_);
    EXPECT_EQ(up.resumed, session_ == up.session);
    EXPECT_TRUE(session_ == 0 || up.resumed);
    session_ = up.session;
    up_ = true;
  }
  void operator()(const action::AnnounceDown&) { EXPECT_TRUE(std::exchange(up_, false)); }
  void operator()(const action::AnnounceLost&) {
    EXPECT_NE(std::exchange(session_, 0), 0);
    up_ = false;
  }
  void operator()(const action::AnnounceFailed&) { EXPECT_EQ(session_, 0); }
  void operator()(const action::AnnounceClosed&) {
    EXPECT_FALSE(open_);
    EXPECT_FALSE(std::exchange(closed_, true));
    up_ = false;
    session_ = 0;
  }

  void NoHandleCouldBeOpened() { open_ = false; }
  bool open() const { return open_; }
  bool up() const { return up_; }
  zk::SessionId session() const { return session_; }

 private:
  bool open_ = false;
  bool up_ = false;
  bool closed_ = false;
  zk::SessionId session_ = 0;
};

TEST(SessionMachine, KeepsItsPromisesInAnyOrderOfEvents) {
  const std::vector<Event> events = EveryEvent();
  std::mt19937_64 random(1);
  for (int run = 0; run < 20000; ++run) {
    SessionMachine machine(kServers);
    Watchman watchman;
    for (int step = 0; step < 25; ++step) {
      const Event& event = events[random() % events.size()];
      const bool unopened = std::holds_alternative<event::ResolveFailed>(event) &&
                            machine.state() == State::kConnecting;
      if (unopened) watchman.NoHandleCouldBeOpened();
      for (const Action& action : machine.On(event)) std::visit(watchman, action);
      EXPECT_EQ(machine.connected(), watchman.up());
      EXPECT_EQ(machine.session(), watchman.session());
    }
    if (HasFailure()) FAIL() << "run " << run;
  }
}

// ---- a value with a complete hash --------------------------------------------------------------

void ExpectDifferent(const Story& a, const Story& b) {
  EXPECT_FALSE(a.machine == b.machine);
  EXPECT_NE(absl::HashOf(a.machine), absl::HashOf(b.machine));
}

TEST(SessionMachine, ComparesEveryField) {
  ExpectDifferent({SessionMachine(1)}, {SessionMachine(2)});
  ExpectDifferent(Closing(Connected()), Closing(Suspended()));   // connected
  ExpectDifferent(Closing(Resolving()), Closing(Connecting()));  // handle open
  Story other = Connecting();
  other.On(event::Connected{8});
  ExpectDifferent(Connected(), other);  // session
  Story twice = Pausing();
  twice.On(event::PauseOver{});
  ExpectDifferent(Resolving(), twice);    // failures
  ExpectDifferent(Fresh(), Resolving());  // state
}

TEST(SessionMachine, HashesAsItCompares) {
  std::vector<SessionMachine> machines;
  for (const Story& s :
       {Fresh(), Resolving(), Connecting(), Pausing(), Connected(), Suspended(), Failed(),
        Closing(Connected()), Closing(Suspended()), Closed(Connected()), Closed(Fresh())}) {
    machines.push_back(s.machine);
    machines.push_back(s.machine);
  }
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(machines));
}

}  // namespace
}  // namespace zkrecipes::session

// SPDX-License-Identifier: Apache-2.0
//
// Every event in every state; the machine as a value with a complete hash.

#include <random>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/hash/hash_testing.h"
#include <gtest/gtest.h>

#include "lib/session/machine/session_machine.h"
#include "lib/session/machine/session_machine_test_script.h"

namespace zkrecipes::session::machine {
namespace {

using State = SessionMachine::State;

// ---- every event in every state ----------------------------------------------------------------

std::vector<Event> EveryEvent() {
  return {event::Start{},
          event::Resolved{},
          event::OpenFailed{},
          event::ResolveFailed{},
          event::PauseOver{},
          event::Connected{7},
          event::Connected{8},
          event::Disconnected{1},
          event::Disconnected{kRound},
          event::HandleEnded{kExpired},
          event::HandleEnded{kAuthFailed},
          event::HandleEnded{kAuthFailed, /*served=*/true},
          event::HandleEnded{kAuthFailed, /*served=*/true, /*by_every=*/true},
          event::HandleEnded{.why = kAuthFailed, .goes_on = true},
          event::CloseRequested{},
          event::Drained{},
          event::EndAnswered{true},
          event::EndAnswered{},
          event::CloseTimeOver{},
          event::Unneeded{},
          event::TriedAgain{},
          event::ServersChanged{kServers}};
}

TEST(SessionMachine, DoesNothingOnceClosed) {
  for (const SessionScript& closed : {Closed(Fresh()), Closed(Connected()), Closed(Resolving())}) {
    for (const Event& event : EveryEvent()) {
      SessionScript s = closed;
      EXPECT_EQ(s.On({event}), "") << event.index();
      EXPECT_EQ(s.state(), State::kClosed) << event.index();
    }
  }
}

// What session.h may rely on, whatever comes: handles open and close in turn, a session is
// announced connected before disconnected or expired, and nothing follows the end.
class Watchman {
 public:
  void operator()(const action::Resolve&) {}
  void operator()(const action::StartPause&) {}
  void operator()(const action::SetServers&) { EXPECT_TRUE(open_); }
  void operator()(const action::Drain&) {}
  void operator()(const action::EndSession&) {
    EXPECT_TRUE(open_);
    EXPECT_NE(session_, 0);
  }
  void operator()(const action::OpenHandle&) { EXPECT_FALSE(std::exchange(open_, true)); }
  void operator()(const action::CloseHandle&) { EXPECT_TRUE(std::exchange(open_, false)); }
  void operator()(const action::AnnounceConnected& a) {
    EXPECT_TRUE(open_);
    EXPECT_EQ(a.resumed, session_ == a.session);
    EXPECT_TRUE(session_ == 0 || a.resumed);
    session_ = a.session;
    connected_ = true;
  }
  void operator()(const action::AnnounceDisconnected&) {
    EXPECT_TRUE(std::exchange(connected_, false));
  }
  void operator()(const action::AnnounceExpired&) {
    EXPECT_NE(std::exchange(session_, 0), 0);
    connected_ = false;
  }
  void operator()(const action::AnnounceFailed&) { EXPECT_EQ(session_, 0); }
  void operator()(const action::AnnounceClosed&) {
    EXPECT_FALSE(open_);
    EXPECT_FALSE(std::exchange(closed_, true));
    connected_ = false;
    session_ = 0;
  }

  void NoHandleCouldBeOpened() { open_ = false; }
  bool open() const { return open_; }
  bool connected() const { return connected_; }
  zk::SessionId session() const { return session_; }

 private:
  bool open_ = false;
  bool connected_ = false;
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
      const bool unopened =
          std::holds_alternative<event::OpenFailed>(event) && machine.state() == State::kConnecting;
      if (unopened) watchman.NoHandleCouldBeOpened();
      for (const Action& action : machine.On(event)) std::visit(watchman, action);
      EXPECT_EQ(machine.connected(), watchman.connected());
      EXPECT_EQ(machine.session(), watchman.session());
    }
    if (HasFailure()) FAIL() << "run " << run;
  }
}

// ---- a value with a complete hash --------------------------------------------------------------

void ExpectDifferent(const SessionScript& a, const SessionScript& b) {
  EXPECT_FALSE(a.machine == b.machine);
  EXPECT_NE(absl::HashOf(a.machine), absl::HashOf(b.machine));
}

TEST(SessionMachine, ComparesEveryField) {
  ExpectDifferent({SessionMachine(1)}, {SessionMachine(2)});
  ExpectDifferent(Closing(Connected()), Closing(Suspended()));               // connected
  ExpectDifferent(Closing(Resolving()), Closing(Connecting()));              // handle open
  ExpectDifferent(Connected(), After(Connecting(), {event::Connected{8}}));  // session
  ExpectDifferent(Fresh(), Resolving());                                     // state
  ExpectDifferent(Connected(), After(Connected(), {event::ServersChanged{kServers}}));  // due
}

TEST(SessionMachine, HashesAsItCompares) {
  std::vector<SessionMachine> machines;
  for (const SessionScript& s :
       {Fresh(), Resolving(), Connecting(), Pausing(), Connected(), Suspended(), Failed(),
        Closing(Connected()), Closing(Suspended()), Closed(Connected()), Closed(Fresh())}) {
    machines.push_back(s.machine);
    machines.push_back(s.machine);
  }
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(machines));
}

}  // namespace
}  // namespace zkrecipes::session::machine

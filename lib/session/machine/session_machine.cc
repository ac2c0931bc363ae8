// SPDX-License-Identifier: Apache-2.0

#include "lib/session/machine/session_machine.h"

#include <algorithm>
#include <utility>

namespace zkrecipes::session::machine {
namespace {
// One name may stand for several servers.
constexpr int kShortestRound = 3;

bool RefusesForGood(zk::Code why) {
  return why == zk::Code::kAuthFailed || why == zk::Code::kCredentialsRequired ||
         why == zk::Code::kKeeper;
}

}  // namespace

class SessionMachine::Transition {
 public:
  Transition(SessionMachine& machine, Actions& actions) : m_(machine), actions_(actions) {}

  void operator()(const event::Start&) {
    if (m_.state_ == State::kNew) Resolve();
  }

  // An answer comes for three reasons: a session is to begin, the list of servers has changed, or
  // the servers may have moved while the session was suspended. In the last case the old addresses
  // are given up with the session, which the ensemble may have expired by now.
  void operator()(const event::Resolved& e) {
    const bool give_up = m_.state_ == State::kSuspended && e.moved;
    const bool due = std::exchange(m_.servers_due_, false);
    if (m_.state_ != State::kResolving && !give_up) {
      if (due) Do(action::SetServers{});
      return;
    }
    // The handle is closed first, so that nothing of the old session is heard after its end.
    if (give_up) {
      CloseHandle();
      LoseSession();
    }
    m_.state_ = State::kConnecting;
    m_.handle_open_ = true;
    Do(action::OpenHandle{});
  }

  // Names that cannot be resolved now are resolved again after a pause; a handle that could not be
  // opened counts the same.
  void operator()(const event::ResolveFailed&) {
    if (m_.state_ != State::kResolving && m_.state_ != State::kConnecting) return;
    m_.handle_open_ = m_.servers_due_ = false;
    Pause();
  }

  void operator()(const event::PauseOver&) {
    if (m_.state_ == State::kPausing) Resolve();
    if (m_.servers_due_) Do(action::Resolve{});
  }

  // The answer for the earlier list is void (Session counts the lists), so an answer under way is
  // asked for again.
  void operator()(const event::ServersChanged& e) {
    m_.servers_ = e.servers;
    if (m_.state_ == State::kResolving) return Do(action::Resolve{});
    m_.servers_due_ = m_.handle_open_ && m_.state_ != State::kClosing;
    if (m_.servers_due_) Do(action::Resolve{});
  }

  void operator()(const event::ServersUnresolved&) {
    if (m_.servers_due_) Do(action::StartPause{});
  }

  void operator()(const event::Connected& e) {
    // A handle that is being closed may still report its connection.
    if (!m_.handle_open_) return;
    const bool resumed = m_.session_ == e.session;
    // The old session's end must be announced before the new session begins.
    if (m_.session_ != 0 && !resumed) LoseSession();
    m_.session_ = e.session;
    m_.connected_ = true;
    if (m_.state_ != State::kClosing) m_.state_ = State::kConnected;
    Do(action::AnnounceConnected{e.session, resumed});
  }

  void operator()(const event::Disconnected& e) {
    // The first attempt that fails after a connection announces the loss; those after it only
    // count.
    if (m_.connected_) {
      m_.connected_ = false;
      if (m_.state_ != State::kClosing) m_.state_ = State::kSuspended;
      return Do(action::AnnounceDisconnected{});
    }
    // The servers may have moved. Without a session, start over with their new addresses. With one,
    // the handle keeps trying, and names are resolved only after a session timeout of silence.
    const int round = std::max(m_.servers_, kShortestRound);
    if (m_.state_ == State::kConnecting && e.attempt >= round) {
      CloseHandle();
      return Resolve();  // meanwhile the pause after the last attempt goes on: zk::ConnectPace
    }
    if (m_.state_ == State::kSuspended && e.silent_for_timeout && e.attempt % round == 0)
      Do(action::Resolve{});
  }

  void operator()(const event::HandleEnded& e) {
    if (!m_.handle_open_) return;
    // The session has expired, or the server refuses this client for good.
    const bool had_session = m_.session_ != 0;
    m_.connected_ = false;
    CloseHandle();
    if (had_session) LoseSession();
    if (RefusesForGood(e.why)) {
      if (m_.state_ != State::kClosing) m_.state_ = State::kFailed;
      return Do(action::AnnounceFailed{e.why});
    }
    if (m_.state_ == State::kClosing) return;
    had_session ? Resolve() : Pause();  // a server that refuses new sessions needs a pause
  }

  // A closing session stays connected if it is, since its listeners delete their nodes first; it
  // ends by Drained, or by the timer that Drain starts.
  void operator()(const event::CloseRequested&) {
    if (m_.state_ == State::kClosing || m_.state_ == State::kClosed) return;
    m_.state_ = State::kClosing;
    Do(action::Drain{});
  }

  void operator()(const event::Drained&) {
    if (m_.state_ != State::kClosing) return;
    m_.state_ = State::kClosed;
    m_.connected_ = false;
    // The close also ends the session on the server, with every node that could not be deleted.
    if (m_.handle_open_) CloseHandle();
    m_.session_ = 0;
    Do(action::AnnounceClosed{});
  }

 private:
  void Do(Action action) { actions_.push_back(action); }

  void Resolve() {
    m_.state_ = State::kResolving;
    Do(action::Resolve{});
  }

  void Pause() {
    m_.state_ = State::kPausing;
    Do(action::StartPause{});
  }

  void CloseHandle() {
    m_.handle_open_ = false;
    m_.servers_due_ = false;  // the next one has them from the beginning
    Do(action::CloseHandle{});
  }

  void LoseSession() {
    m_.session_ = 0;
    Do(action::AnnounceExpired{});
  }

  SessionMachine& m_;
  Actions& actions_;
};

Actions SessionMachine::On(const Event& event) {
  Actions actions;
  std::visit(Transition(*this, actions), event);
  return actions;
}

}  // namespace zkrecipes::session::machine

// SPDX-License-Identifier: Apache-2.0

#include "lib/session/machine/session_machine.h"

#include "lib/zk/seam/connect_pace.h"

namespace zkrecipes::session::machine {
namespace {

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

  // Not at once: the one that asks for it may do so each time that it is refused.
  void operator()(const event::TriedAgain&) {
    if (m_.state_ == State::kFailed) Pause();
  }

  void operator()(const event::Resolved& e) {
    m_.resolving_ = false;
    if (m_.state_ == State::kResolving) {
      m_.state_ = State::kConnecting;
      m_.handle_open_ = true;
      return Do(action::OpenHandle{});
    }
    if (m_.handle_open_ && m_.state_ != State::kClosing) {
      // A server is not left for want of an answer.
      const bool sure = e.complete && !e.unsure;
      Do(action::SetServers{m_.servers_due_ && sure});
      if (sure) m_.servers_due_ = false;
      if (e.unsure && m_.servers_due_) Do(action::StartPause{});
    }
  }

  // Without a handle, or for a list that the user has changed, they are resolved again after a
  // pause. Otherwise the open handle goes on with the servers that it has, until the next round.
  void operator()(const event::ResolveFailed&) {
    m_.resolving_ = false;
    if (m_.state_ == State::kResolving) return Pause();
    if (m_.servers_due_) Do(action::StartPause{});
  }

  void operator()(const event::OpenFailed&) {
    if (m_.state_ != State::kConnecting) return;
    m_.handle_open_ = m_.servers_due_ = false;
    Pause();
  }

  void operator()(const event::PauseOver&) {
    if (m_.state_ == State::kPausing) return Resolve();
    if (m_.servers_due_) FollowNames();
  }

  // The answer for the earlier list is void (Session numbers the look-ups), so an answer under way
  // is asked for again.
  void operator()(const event::ServersChanged& e) {
    m_.servers_ = e.servers;
    if (m_.state_ == State::kResolving) return Do(action::Resolve{});
    m_.servers_due_ = m_.handle_open_ && m_.state_ != State::kClosing;
    m_.resolving_ = false;
    if (m_.servers_due_) FollowNames();
  }

  void operator()(const event::Connected& e) {
    // A handle that is being closed may still report its connection.
    if (!m_.handle_open_) return;
    const bool resumed = m_.session_ == e.session;
    // The old session's end must be announced before the new session begins.
    if (m_.session_ != 0 && !resumed) LoseSession();
    m_.session_ = e.session;
    m_.given_up_ = false;
    m_.connected_ = true;
    if (m_.state_ != State::kClosing) m_.state_ = State::kConnected;
    Do(action::AnnounceConnected{e.session, resumed});
    // The end that was asked for on the connection before may not have been heard.
    if (m_.drained_) EndSession();
  }

  void operator()(const event::Disconnected& e) {
    // The first attempt that fails after a connection announces the loss; those after it only
    // count. Names are resolved at once, so that the answer is there when the next attempts fail.
    if (m_.connected_) {
      m_.connected_ = false;
      if (m_.state_ != State::kClosing) m_.state_ = State::kSuspended;
      Do(action::AnnounceDisconnected{});
      return FollowNames();
    }
    if (e.attempt % zk::ConnectPace::Round(m_.servers_) == 0) FollowNames();
  }

  void operator()(const event::HandleEnded& e) {
    if (!m_.handle_open_) return;
    // The session has expired, or the server refuses this client for good.
    const bool had_session = m_.session_ != 0;
    m_.connected_ = false;
    CloseHandle();
    if (had_session) {
      m_.given_up_ = e.why != zk::Code::kSessionExpired;
      LoseSession();
    }
    // One server may be alone in its ways, so of a client that was served, or goes on by another
    // session, each is asked; the next handle begins at any of them.
    m_.served_ |= e.served || (had_session && !RefusesForGood(e.why));
    if (RefusesForGood(e.why) && (e.by_every || !(m_.served_ || e.goes_on))) {
      if (m_.state_ != State::kClosing) m_.state_ = State::kFailed;
      Do(action::AnnounceFailed{e.why});
      if (m_.drained_) EndSession();
      return;
    }
    if (m_.drained_) return EndSession();
    if (m_.state_ == State::kClosing) return;
    // A server that refuses new sessions needs a pause.
    had_session && !RefusesForGood(e.why) ? Resolve() : Pause();
  }

  // A closing session stays connected if it is, or comes back, since its listeners delete their
  // nodes first. Then the server is asked to end it. Nothing else says that it is over: so a client
  // that is closed while it has no connection waits for one, until the time is over.
  void operator()(const event::CloseRequested&) {
    if (m_.state_ == State::kClosing || m_.state_ == State::kClosed) return;
    m_.state_ = State::kClosing;
    Do(action::Drain{});
  }

  void operator()(const event::Drained&) {
    if (m_.state_ != State::kClosing) return;
    m_.drained_ = true;
    EndSession();
  }

  // As if the connection were lost: nothing is granted any more in a session that may end at once.
  void operator()(const event::Unneeded&) {
    if (m_.state_ != State::kConnected) return;
    m_.connected_ = false;
    m_.state_ = State::kSuspended;
    Do(action::AnnounceDisconnected{});
    Do(action::EndSession{});
  }

  // Without an answer the connection is lost, too. On the next one a closing session is asked to be
  // ended again. Any other is given up: its end may still be on its way to the leader, and would
  // end it at any time, whatever is proven meanwhile.
  void operator()(const event::EndAnswered& e) {
    if (m_.state_ == State::kClosing) {
      if (e.confirmed) Closed(/*confirmed=*/true);
      return;
    }
    if (m_.state_ != State::kConnected && m_.state_ != State::kSuspended) return;
    m_.connected_ = false;
    m_.given_up_ = !e.confirmed;
    CloseHandle();
    LoseSession(e.confirmed);
    Resolve();
  }

  void operator()(const event::CloseTimeOver&) {
    if (m_.state_ == State::kClosing) Closed(/*confirmed=*/m_.session_ == 0 && !m_.given_up_);
  }

 private:
  void Do(Action action) { actions_.push_back(action); }

  void Resolve() {
    m_.state_ = State::kResolving;
    Do(action::Resolve{});  // another one: that of a handle before is void
  }

  void Pause() {
    m_.state_ = State::kPausing;
    Do(action::StartPause{});
  }

  // For the open handle. One look-up is under way at a time.
  void FollowNames() {
    if (!m_.handle_open_ || m_.state_ == State::kClosing) return;
    if (!std::exchange(m_.resolving_, true)) Do(action::Resolve{});
  }

  void CloseHandle() {
    m_.handle_open_ = m_.resolving_ = false;
    m_.servers_due_ = false;  // the next one has them from the beginning
    Do(action::CloseHandle{});
  }

  void EndSession() {
    if (m_.session_ == 0) return Closed(/*confirmed=*/!m_.given_up_);
    if (m_.connected_) Do(action::EndSession{});
  }

  void Closed(bool confirmed) {
    m_.state_ = State::kClosed;
    m_.connected_ = m_.drained_ = false;
    if (m_.handle_open_) CloseHandle();
    m_.session_ = 0;
    Do(action::AnnounceClosed{confirmed});
  }

  void LoseSession(bool confirmed = false) {
    m_.session_ = 0;
    Do(action::AnnounceExpired{confirmed});
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

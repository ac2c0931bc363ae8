// SPDX-License-Identifier: Apache-2.0
//
// CHandle under the loop. docs/adr/0003 says why this copy of the C client is driven by ours.

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <utility>

#include "lib/zk/c_client/c_handle.h"

namespace zkrecipes::zk::c_client {
namespace {

// A bound on one round, however fast the server sends.
constexpr int kMaxDrain = 64;

}  // namespace

CHandle::Socket CHandle::socket_state() const {
  const int state = zoo_state(zh_);
  if (state == ZOO_CONNECTED_STATE) return Socket::kConnected;
  if (state == ZOO_ASSOCIATING_STATE) return Socket::kHandshake;
  if (state == ZOO_CONNECTING_STATE) return Socket::kConnecting;
  return Socket::kNone;
}

// The connection counts once its listener knows of it.
CHandle::Socket CHandle::Before() const {
  return connected_ ? Socket::kConnected : std::min(socket_state(), Socket::kHandshake);
}

ConnectPace::Terms CHandle::PaceTerms() const {
  return {absl::Milliseconds(zoo_recv_timeout(zh_)), rotation_.size(),
          /*resumes=*/zoo_client_id(zh_)->client_id != 0};
}

// The current attempt is given up then.
base::BootTime CHandle::AttemptEnd() const {
  const bool there = socket_state() == Socket::kHandshake;
  return attempt_began_ + (there ? pace_.AttemptLimit(PaceTerms(), attempt_began_)
                                 : pace_.ConnectLimit(PaceTerms(), attempt_began_));
}

int CHandle::Process(int events) {
  const Socket before = Before();
  int rc;
  {
    const BoxScope through(&boxes_);
    // Callbacks run in here: any of them may Send, or close another handle.
    rc = zookeeper_process(zh_, events);
  }
  if (rc != ZOK && rc != ZNOTHING) Failed(before, rc);
  return rc;
}

void CHandle::Drain() {
  const Callbacks callbacks(this);
  const bool was_connected = connected_;
  ReadSocket();
  // A connection that goes on, and of which all is read and sent, has time until its next ping.
  const bool goes_on = was_connected && connected_;
  if (!goes_on || undrained_ || boxes_.out.blocked()) set_touched(true);
}

void CHandle::ReadSocket() {
  undrained_ = false;
  // Reading before the handshake is sent would leak the C client's buffer.
  if (ended_ || socket_state() < Socket::kHandshake) return;
  for (int i = 0; i < kMaxDrain; ++i) {
    if (Process(ZOOKEEPER_READ) != ZOK) {  // one reply at a time
      undrained_ = boxes_.in.pauses();
      return;
    }
    // The welcome has just come: this sends the watches that are set again, in the same round.
    if (std::exchange(write_due_, false) && Process(ZOOKEEPER_WRITE) != ZOK) return;
    if (!boxes_.in.MayHaveMore()) return;
  }
  undrained_ = true;
}

Pollable::Interest CHandle::Prepare() {
  const Callbacks callbacks(this);
  if (ended_) return {};
  const base::BootTime now = reactor_->Now();
  if (socket_state() == Socket::kNone) {
    if (now < pace_.next_attempt()) return {.until = pace_.next_attempt()};
    // Prepared before the call below, which makes the socket and connects it.
    if (!BeginAttempt(now)) return {.until = pace_.next_attempt()};
  }
  // Before the flush: it may queue a ping, which leaves with the rest.
  Interest interest = AskInterest(now);
  // Without an established socket, unsent bytes belong to a connection that is gone.
  if (socket_state() < Socket::kHandshake) {
    boxes_.out.Drop();
  } else {
    boxes_.out.Flush();
  }
  // The C client would not ask for it: as it sees things, the outbox has taken everything.
  if (boxes_.out.blocked()) interest.events |= POLLOUT;
  // poll sees the socket, not the inbox.
  if (undrained_) interest.until = now;
  return interest;
}

// False if none could be made: the next one is put off.
bool CHandle::BeginAttempt(base::BootTime now) {
  boxes_.to_size = FromNumeric(rotation_.Next(), boxes_.to);
  leaving_ = false;
  abandoned_ = Socket::kNone;
  boxes_.in.Question(refusals_.Asks(rotation_.current(), now, PaceTerms().session_timeout));
  // The bound on the session's life rests on it: whatever the ensemble hears on this connection, it
  // hears later.
  attempt_began_ = now;
  if (tls_ == nullptr) return true;
  auto stream = tls_->Connect(HostsAt(known_.listed, rotation_.current()));
  if (stream.ok()) {
    boxes_.Through(std::make_unique<wire::TlsSocket>(*std::move(stream)));
    return true;
  }
  // Nothing was sent, and the servers are not to blame: the next attempt reads the files again.
  PutOff(/*late=*/false);
  listener_->OnTrouble(absl::UnavailableError(stream.status().message()));
  listener_->OnDisconnected(++failed_attempts_);
  return false;
}

Pollable::Interest CHandle::AskInterest(base::BootTime now) {
  const Socket before = Before();
  int fd = -1;
  int events = 0;
  timeval wait{};
  int rc;
  {
    const BoxScope through(&boxes_);
    rc = zookeeper_interest(zh_, &fd, &events, &wait);
    // The C client wants to pause after a round of failures; pace_ has already done so.
    if (rc == ZOK && fd == -1) rc = zookeeper_interest(zh_, &fd, &events, &wait);
  }
  if (rc != ZOK) {
    Failed(before, rc);
    // A descriptor that it may have returned is closed already.
    return ended_ ? Interest() : Interest{.until = connected_ ? now : pace_.next_attempt()};
  }
  Interest interest;
  interest.fd = fd;
  if (events & ZOOKEEPER_READ) interest.events |= POLLIN;
  if (events & ZOOKEEPER_WRITE) interest.events |= POLLOUT;
  interest.until = now + absl::DurationFromTimeval(wait);
  if (!connected_) {
    AbandonLateAttempt(fd, now);
    if (abandoned_ == Socket::kNone) interest.until = std::min(interest.until, AttemptEnd());
  }
  // Lost, and the session goes on at another.
  if (std::exchange(leaving_, false)) shutdown(fd, SHUT_RDWR);
  return interest;
}

void CHandle::AbandonLateAttempt(int fd, base::BootTime now) {
  if (abandoned_ != Socket::kNone || now < AttemptEnd()) return;
  // Closing the socket behind the C client's back would leave it with a number that may be
  // another's.
  abandoned_ = socket_state();
  shutdown(fd, SHUT_RDWR);  // poll reports it, and the C client finds it dead
}

void CHandle::OnReady(short revents) {
  const Callbacks callbacks(this);
  if (ended_) return;
  if (revents & POLLOUT) {
    // The socket has room: what is left goes first, then what the C client has held back.
    boxes_.out.Flush();
    Process(ZOOKEEPER_WRITE);
  } else if (socket_state() == Socket::kConnecting) {
    Process(ZOOKEEPER_READ);  // reports the error; Drain skips a socket that is not connected
  }
}

}  // namespace zkrecipes::zk::c_client

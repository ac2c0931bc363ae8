// SPDX-License-Identifier: Apache-2.0
//
// Connections of a CHandle that failed: what the server did, and when the next one is tried.

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/shortage.h"
#include "lib/zk/c_client/c_handle.h"

namespace zkrecipes::zk::c_client {

void CHandle::Failed(Socket before, int rc) {
  // Lost has already run if the connection is gone.
  if (connected_ || ended_) return;  // only this call failed; or there is nothing more to do
  boxes_.out.Drop();
  if (is_unrecoverable(zh_)) return End();
  const int error = TakeConnectError();
  // The server took the connection, and closed it before the C client had sent a byte.
  const bool reset = error == ECONNRESET || error == EPIPE;
  if (reset && before == Socket::kConnecting) before = Socket::kHandshake;
  // A session in which a server has done something goes on at the next one: this one may be alone
  // in its ways. It closes the connection and not the session, so nothing else would end the
  // attempts of a client that is served nowhere.
  const std::optional<Code> turned_away = boxes_.in.turned_away();
  if (turned_away.has_value() && !served_) return End(*turned_away);
  const bool was_connected = before == Socket::kConnected;
  NoteRefusal(before, rc);
  if (refusals_.MostRefuse(known_, reactor_->Now(), PaceTerms().session_timeout)) {
    return End(turned_away.value_or(Code::kSessionRefused));
  }
  // The end of a good connection says nothing of the servers' pace.
  PutOff(!was_connected && (abandoned_ != Socket::kNone || rc == ZOPERATIONTIMEOUT));
  if (const int shortage = TakeSocketError(); base::IsShortage(shortage)) {
    listener_->OnTrouble(base::Shortage("socket", shortage));
  } else {
    listener_->OnServerFailed(rotation_.current(), WhatItDid(before, rc, reset ? 0 : error));
  }
  // Lost has reported the loss of a connection; this is for attempts that never had one.
  if (!was_connected) listener_->OnDisconnected(++failed_attempts_);
}

// Only of a session that there is: without one a client has seen nothing that a server could miss.
void CHandle::NoteRefusal(Socket before, int rc) {
  if (zoo_client_id(zh_)->client_id == 0) return;
  Refusals::Did did = Refusals::Did::kOther;
  if (boxes_.in.serves_others() || boxes_.in.with_keeper() || boxes_.in.turned_away().has_value()) {
    did = Refusals::Did::kRefused;
  } else if (before == Socket::kHandshake && abandoned_ == Socket::kNone &&
             rc != ZOPERATIONTIMEOUT) {
    did = Refusals::Did::kHungUp;
  }
  refusals_.Note(rotation_.current(), did, boxes_.in.asks(), reactor_->Now());
}

void CHandle::PutOff(bool late) {
  pace_.Failed(PaceTerms(), reactor_->Now(), late, reactor_->Random());
}

ServerFailure CHandle::WhatItDid(Socket before, int rc, int error) {
  using enum NoConnection;
  Socket late = std::exchange(abandoned_, Socket::kNone);
  if (rc == ZOPERATIONTIMEOUT) late = before;  // the C client's own limit came first
  if (std::string refusal = boxes_.in.TakeRefusal(); !refusal.empty()) {
    const bool session = refusal == wire::kRefusesSession;
    return {boxes_.in.refusal_cause(), std::move(refusal), session};
  }
  if (auto did = WhatItDidUnderTls(before, late)) return *std::move(did);
  if (late == Socket::kHandshake) {
    return {kSilent, "took the connection, but said nothing in time"};
  }
  if (late != Socket::kNone) return {kSilent, "did not answer in time"};
  if (error == ECONNREFUSED) return {kRefused, "refused the connection"};
  if (error != 0) {
    return {kUnreachable, absl::StrCat("could not be reached (", strerror(error), ")")};
  }
  if (before == Socket::kConnected) return {kHungUp, "closed the connection"};
  if (before == Socket::kHandshake && refusals_.Refuses(rotation_.current())) {
    return {kRejected, wire::kRefusesSession, true};
  }
  if (before == Socket::kHandshake) {
    return {kHungUp,
            absl::StrCat("closed the connection during the handshake, as a server does that ",
                         boxes_.tls == nullptr ? "has no quorum, speaks TLS, "
                                               : "does not accept this client's certificate or its "
                                                 "lack of one, has no quorum, ",
                         "or has maxClientCnxns connections of this host")};
  }
  return {kUnreachable, absl::StrCat("could not be tried (", CodeName(static_cast<Code>(rc)), ")")};
}

// nullopt if it is nothing of TLS's.
std::optional<ServerFailure> CHandle::WhatItDidUnderTls(Socket before, Socket late) {
  using enum NoConnection;
  if (boxes_.tls == nullptr) return std::nullopt;
  if (!boxes_.tls->failure().empty()) return ServerFailure{kTls, boxes_.tls->failure()};
  if (before != Socket::kHandshake || !boxes_.tls->shaking_hands()) return std::nullopt;
  if (late == Socket::kHandshake) {
    return ServerFailure{kSilent, "took the connection, but did not end the TLS handshake in time"};
  }
  return ServerFailure{
      kTls, "closed the connection during the TLS handshake, as a port without TLS does"};
}

}  // namespace zkrecipes::zk::c_client

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_SESSION_LISTENER_H_
#define ZKRECIPES_LIB_SESSION_SESSION_LISTENER_H_

#include <string>

#include "absl/status/status.h"

#include "lib/session/machine/beat_pace.h"

namespace zkrecipes::session {

// Receives a session's events. Called on the reactor. It may join, part and send inside any of
// these calls.
class SessionListener {
 public:
  virtual ~SessionListener() = default;
  virtual void OnConnected() {}     // see Session::id()
  virtual void OnDisconnected() {}  // the connection is lost; the session may live
  virtual void OnExpired() {}       // the session has ended, with its nodes and watches
  // There will be no session any more, unless it is tried again for a listener to come: part.
  virtual void OnFailed(const absl::Status& why) = 0;
  virtual void OnClosing() = 0;  // leave, then part
};

// One that also wants its session to be proven alive at times: a contender, with a node in it.
class ProofListener : public SessionListener {
 public:
  // Call Session::NeedChanged whenever the result may have changed.
  virtual machine::Need need() const = 0;

  virtual void OnProven() = 0;  // the period of Session::validity() was unproven until now
  virtual void OnLapsed() = 0;  // the period has ended: leases granted in it are lost
  // Leases may be over by now. Comes before OnExpired and OnLapsed, to all listeners before any of
  // them does more: only what must happen in time belongs here. It must not join, part or send.
  virtual void OnValidityEnded() = 0;
  // The session's epoch() cannot be read: a grant of what it has sent until now has none.
  virtual void OnEpochUnreadable(const absl::Status& why) = 0;

  // A node whose existence the listener would like to know, while the session sends reads and no
  // beats; "": none. OnNodeChecked gets the answer.
  virtual std::string NodeToCheck() const = 0;
  virtual void OnNodeChecked(bool there) = 0;
  // Every sixteenth of the session timeout, while any listener wants it: see
  // Session::WantSuspicionChecks.
  virtual void OnSuspicionCheck() = 0;

 private:
  friend class Session;
  machine::Need counted_;      // by its session: the latest
  bool cannot_leave_ = false;  // as it has said
};

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_SESSION_LISTENER_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_EVENT_LISTENER_H_
#define ZKRECIPES_EVENT_LISTENER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "zkrecipes/lease_end.h"
#include "zkrecipes/sequencer.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// Hears what becomes of acquires and of their leases: for logs and metrics. Set it for all acquires of
// a client (ClientOptions::listener) or for some (AcquireOptions::listener); with both, both hear.
// Without one nothing is computed.
//
// Calls run on the client's executor (but see AtOnce), without a lock of the library held. Those about one
// acquire come in order and never overlap; those about different ones may overlap. They come after the fact, by the
// time it takes a thread to wake up, so what must come in time is asked of the lease itself. `path` is
// the recipe's, as the user gave it; times are measured by a clock that also counts suspended time.
class EventListener {
 public:
  EventListener() = default;
  EventListener(const EventListener&) = delete;
  EventListener& operator=(const EventListener&) = delete;
  virtual ~EventListener() = default;

  // What hears of the acquires of a recipe on `path` at once, on the thread that does the client's I/O (which may be
  // one that waits for an acquire): this listener, or another that it keeps as long as it lives, such as one for a
  // group of paths. That spares the way to the executor, which is dearer than what most listeners do; but until such
  // a call returns nothing is sent or read: it must take microseconds, never block, and call nothing of the library.
  // Asked when a recipe is constructed, on the thread that does. Null (if not overridden): calls come to this
  // listener, on the executor.
  virtual EventListener* AtOnce(const std::string& path);

  // The acquire waits for `waits_for` nodes, of which `behind` is the next. Again whenever it has
  // looked and either has changed: at the latest when `behind` is gone.
  virtual void OnQueued(const std::string& path, int waits_for, const std::string& behind);
  // The session has expired, and with it the place in the queue: the acquire goes on at the tail.
  virtual void OnPlaceLost(const std::string& path);
  // `session`: the id of the session that the lease is of, as the servers' logs have it.
  virtual void OnGranted(const Sequencer& lease, int64_t session, absl::Duration after);
  // The acquire has ended without a lease, with this status: the last call about it. Also if a lease was
  // granted too late. Not for invalid arguments.
  virtual void OnNotGranted(const std::string& path, const absl::Status& why, absl::Duration after);

  // The lease is kSuspect, and kHeld again. Looked at with every change of the connection, and every eighth of the
  // session timeout once the lease is older than about a tenth of it: what was shorter may be missed.
  virtual void OnSuspect(const Sequencer& lease);
  virtual void OnProven(const Sequencer& lease);
  // AcquireOptions::hold_at_most is over, and the lease goes on.
  virtual void OnHeldTooLong(const Sequencer& lease, absl::Duration held);

  // One of these is the last call about a lease. `why` is not kReleased.
  virtual void OnLost(const Sequencer& lease, LeaseEnd why);
  // Its node is gone.
  virtual void OnReleased(const Sequencer& lease, absl::Duration held);

  // The acquire's ACL keeps strangers out, but not that of the path's node, which was there before: every client
  // may delete its children, or change its ACL, so any can take the lock from its holder. Looked at with a
  // client's first grant on a path, by a read more; told once. Paths of an open ACL are not looked at: there
  // all is as the user has chosen. `zkr doctor` tells of both, each time.
  virtual void OnOpenParent(const std::string& path);
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_EVENT_LISTENER_H_

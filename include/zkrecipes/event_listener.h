// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_EVENT_LISTENER_H_
#define ZKRECIPES_EVENT_LISTENER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "zkrecipes/lease_end.h"
#include "zkrecipes/partitions_report.h"
#include "zkrecipes/sequencer.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// Receives the events of acquires and of their leases, for logs and metrics. Set it for all
// acquires of a client (ClientOptions::listener) or for some (AcquireOptions::listener); with both,
// both receive them. Without a listener nothing is computed.
//
// Calls run on the client's executor (but see AtOnce), without a lock of the library held. The
// calls about one acquire come in order and never overlap; those about different acquires may
// overlap. An event arrives after the fact, later by the time that a thread takes to wake up; ask
// the lease itself for what must be known in time. A call that throws ends the process
// (std::terminate). `path` is the recipe's, as the user gave it; times are measured by a clock that
// also counts suspended time.
class EventListener {
 public:
  EventListener() = default;
  EventListener(const EventListener&) = delete;
  EventListener& operator=(const EventListener&) = delete;
  virtual ~EventListener() = default;

  // The listener that is called at once, in place of this one, for a recipe on `path`: on the
  // thread that does the client's I/O, which may be one that waits for an acquire. (Once the client
  // is closed, OnPartitions runs on the thread that gives a partition back, and OnTurns on the one
  // that ends a turn: hold no mutex there that the listener locks.) It is this listener, or another
  // that this one keeps as long as it lives, such as one for a group of paths.
  // A call at once is spared the way to the executor, which costs more than most listeners do. But
  // nothing is sent or read until it returns: it must take microseconds, never block, and call
  // nothing of the library. Asked when a recipe is constructed, on the thread that constructs it.
  // Null (if not overridden): this listener is called, on the executor.
  //
  // A call below that is not overridden passes the event on to what AtOnce returns.
  virtual EventListener* AtOnce(const std::string& path);

  // The acquire waits for `waits_for` nodes; `behind` is its predecessor. Comes again when the
  // acquire finds that either has changed: at the latest when `behind` is gone.
  virtual void OnQueued(const std::string& path, int waits_for, const std::string& behind);
  // The session has expired, and with it the place in the queue: the acquire goes on at the tail.
  virtual void OnPlaceLost(const std::string& path);
  // `session`: the id of the lease's session, as the servers' logs have it.
  virtual void OnGranted(const Sequencer& lease, int64_t session, absl::Duration after);
  // The acquire has ended without a lease, with this status: the last call about it. Also if a
  // lease was granted too late. Not for a call that is refused before it asks for anything:
  // for its arguments, its thread or process, or an upgrade or downgrade whose lease has ended.
  virtual void OnNotGranted(const std::string& path, const absl::Status& why, absl::Duration after);

  // The lease is kSuspect, and kHeld again. The state is checked with every change of the
  // connection, and every sixteenth of the session timeout: shorter spells may be missed.
  virtual void OnSuspect(const Sequencer& lease);
  virtual void OnProven(const Sequencer& lease);

  // One of these is the last call about a lease. `why` is not kReleased.
  virtual void OnLost(const Sequencer& lease, LeaseEnd why);
  // The lease's node is gone, or its session has ended, with which it goes.
  virtual void OnReleased(const Sequencer& lease, absl::Duration held);

  // Of a CachedLock: under this lease began so many turns, more than it has reported before, that
  // asked no server. The first turn of a lease is OnGranted's. About once in
  // CachedLockOptions::keep_idle_for, and at the lease's end, perhaps behind its last call. On the
  // executor it may overlap with the lease's other calls, and even come before OnGranted.
  virtual void OnTurns(const Sequencer& lease, int64_t turns);

  // The acquire's ACL keeps strangers out, but the ACL of the path's node, which existed before,
  // does not: every client may delete its children, or change its ACL, and so take the lock from
  // its holder. Checked with a client's first grant on a path, at the cost of a read; reported
  // once. Paths of acquires with an open ACL are not checked: that is the user's choice. `zkr
  // doctor` reports an open parent of closed contenders, each time.
  virtual void OnOpenParent(const std::string& path);

  // Of a member of Partitions on `path`, beside the events of its locks (PATH/partitions/NAME) and
  // of its place in the group (PATH/members): what it knows of all, after each change. Its last
  // call has an empty report. AtOnce is asked for it with a path below PATH/partitions.
  virtual void OnPartitions(const std::string& path, const PartitionsReport& now,
                            const PartitionsReport& before);
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_EVENT_LISTENER_H_

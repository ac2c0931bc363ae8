// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LOCK_H_
#define ZKRECIPES_LOCK_H_

#include <memory>
#include <stop_token>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "zkrecipes/acquire_options.h"
#include "zkrecipes/awaitable.h"
#include "zkrecipes/client.h"
#include "zkrecipes/duration.h"
#include "zkrecipes/lease.h"
#include "zkrecipes/lease_work.h"
#include "zkrecipes/wait_options.h"

namespace [[gnu::visibility("default")]] zkrecipes {

using LockOptions = AcquireOptions;

// An exclusive lock, FIFO: held by the contender whose znode is first in the path's queue. Each
// waiter watches only its predecessor.
//
// Thread-safe and stateless: any number of Locks may name one path. Not re-entrant: a second
// Acquire queues behind the first (recursive_lock.h has a re-entrant lock). The constructor does no
// I/O. All forms need the ACL permissions read, create and delete on the path's node. If the node
// does not exist, it is created as a container, with its ancestors.
//
// Errors of each form of acquire:
//   InvalidArgument     the path (absolute, no empty, "." or ".." part, ...), the timeout or an
//                       option
//   DeadlineExceeded,   gave up in time: the lock is not held. The node in the queue is deleted in
//   Unavailable,        the background, until that is confirmed or its session has expired.
//   Cancelled           Unavailable: at the deadline there was no connection; the message says for
//                       how long, and what the servers did; or the contender was first in the queue
//                       for two session timeouts, whatever the deadline, and its session was not
//                       proven alive (docs/lease.md). DeadlineExceeded: there was a connection; the
//                       message says how many contenders were in front, who holds the lock (id,
//                       host, pid) and since when that process queues, as queried up to one second
//                       before the deadline; or that this contender was first, but its session was
//                       not proven alive in time (LeaseOptions::wait_for_proof)
//   Aborted             another client deleted the node while it was queued
//   PermissionDenied    the ACL of the path refuses this client's credentials, or the ACL of the
//                       epoch's record does, /zkrecipes/epoch, which every client must be able to
//                       read
//   FailedPrecondition  the path cannot have children (it is ephemeral); the client is closed, or
//                       belongs to the parent process; a blocking form is called on the client's
//                       I/O thread; the epoch's record is no number, or not believed
//                       (epoch_options.h); the server is ClickHouse Keeper; no lease can be
//                       proven with the session timeout that the servers grant and the
//                       options' ping gap; or the queue has contenders of another
//                       library that ignore this contender's node, so that both would hold: the
//                       message names them and the remedy (AcquireOptions::marker, dialect,
//                       beside_blind). The acquire checks its own listings; a holder is not
//                       notified of later strangers
//   ResourceExhausted   too many contenders in this client, or no session left for a path whose
//                       ACL forbids deletes; a quota, the path's sequence numbers are nearly used
//                       up, the server throttled the read of the epoch's record, the path's
//                       children take more than 64 MiB to list, or no thread is available for the
//                       notice of the lease's end; the message names the remedy
//   Unauthenticated     the server refused the client's credentials
// A lost connection or session is not an error: the wait goes on, in a new session from the tail of
// the queue.
class Lock {
 public:
  // REQUIRES: client is not null. An invalid path is reported by each call below.
  Lock(std::shared_ptr<Client> client, std::string path, const LockOptions& options = {});

  // Waits until the lock is granted and, by default, the lease is proven: believed() is then true.
  absl::StatusOr<Lease> Acquire(const WaitOptions& wait = {}) const;

  // AlreadyExists (IsBusy) if another contender is in the way, or a lock delay is not over by the
  // deadline. The message says which, and who holds the lock.
  // Reads the queue first, so a try of a busy lock does not queue; it costs two reads, the second
  // for the message. If the lock turns out to be contended after that, the try leaves the queue
  // again. The reads go to this client's server, where a lock that has just been released may still
  // look busy. `wait` bounds the network and the proof, not the contention: if the second read
  // takes too long, the message does without it. A free lock whose lease is not proven in time is
  // DeadlineExceeded.
  absl::StatusOr<Lease> TryAcquire(const WaitOptions& wait = {}) const;

  // Does not block. `done` runs exactly once, on the client's executor. If the executor destroys it
  // without running it, a lease that was granted is released.
  void AcquireAsync(WaitOptions wait,
                    absl::AnyInvocable<void(absl::StatusOr<Lease>) &&> done) const;

  // For `co_await lock.CoAcquire()`: see awaitable.h.
  LeaseAwaitable CoAcquire(Duration timeout = absl::InfiniteDuration(),
                           std::stop_token cancel = {}) const;

  // In a loop until `stop`: acquires, and runs work while it holds the lock. lease_work.h has the
  // contract and the errors.
  absl::Status RunWhileHolding(std::stop_token stop, LeaseWork work,
                               const RunOptions& options = {}) const;

  const std::string& path() const;

 private:
  std::shared_ptr<Client> client_;
  std::shared_ptr<const internal::PathQueue> queue_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_LOCK_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_SEMAPHORE_H_
#define ZKRECIPES_SEMAPHORE_H_

#include <memory>
#include <stop_token>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "zkrecipes/acquire_options.h"
#include "zkrecipes/awaitable.h"
#include "zkrecipes/client.h"
#include "zkrecipes/duration.h"
#include "zkrecipes/lease.h"
#include "zkrecipes/wait_options.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// Options of the acquires of one semaphore. `marker` must be unset and `lock_delay` zero
// (InvalidArgument); `dialect` has no effect, since the names are this library's own.
using SemaphoreOptions = AcquireOptions;

// A semaphore, FIFO: at most so many hold at once, those whose znodes are first in the path's
// queue. A release wakes one waiter.
//
// A permit is a Lease, with all that it promises. As long as they believe in their leases, at most
// `permits` contenders hold. Tokens of a path increase from grant to grant, but holders hold
// together, so a permit's token says whose it is and not who came last: its pass is a *shared* one
// (GrantMode::kShared). A resource can
//   - admit it beside other permits, and refuse it once an exclusive token has passed, as a
//     FencingGate does: the token of a Lock on the same path, which waits for all permits;
//   - key what it keeps by the token: a slot for each, which ends when its owner says so;
//   - ask CheckSequencer, with every act, whether the grant still holds.
// No token keeps out a holder that has lost its permit while others hold theirs.
//
// The number of permits is the data of the path's node, a decimal number, which the first contender
// writes. A contender with another number is refused. To change the number, set the data: holders
// keep their permits, and waiters that have the old number are refused when they look next, within
// four session timeouts. Until then, and while holders of the old number are there, one with the
// new number may find out as late that it is its turn.
//
// A Lock on the same path (`zkr lock PATH`) waits for all permits and keeps further ones out:
// nobody holds a permit while it is held. It must have no lock delay: a permit is refused beside
// the record of one. No recipe of Curator's or kazoo's can share the path.
// The node of a permit is only understood by versions of this library that have this header.
//
// Thread-safe and stateless, like Lock: not re-entrant, and the constructor does no I/O. Needs the
// ACL permissions read, create, delete and write on the path's node, and write on its own node.
//
// Errors of each form of acquire: those of Lock (lock.h), with
//   InvalidArgument     also the number of permits, and an option that a semaphore does not have
//   FailedPrecondition  also: the path has another number of permits, or data that are no number;
//                       the message names both, and the remedy; or a Lock with a lock delay was
//                       there
//   PermissionDenied    also: the ACL forbids the write of the number
// Without the permission to write its own node a contender whose turn has come cannot let the next
// one know that it is first in line: that one then finds out within four session timeouts.
class Semaphore {
 public:
  // A contended grant costs 2 * permits reads: up to about a hundred permits are meant.
  static constexpr int kMostPermits = 1000;

  // REQUIRES: client is not null. An invalid path or number is reported by each call below.
  Semaphore(std::shared_ptr<Client> client, std::string path, int permits,
            const SemaphoreOptions& options = {});

  // Each form is that of Lock: it waits until a permit is granted and, by default, the lease is
  // proven; a try is AlreadyExists (IsBusy) if no permit is free, or a Lock is held on the path.
  absl::StatusOr<Lease> Acquire(const WaitOptions& wait = {}) const;
  absl::StatusOr<Lease> TryAcquire(const WaitOptions& wait = {}) const;
  void AcquireAsync(WaitOptions wait,
                    absl::AnyInvocable<void(absl::StatusOr<Lease>) &&> done) const;
  LeaseAwaitable CoAcquire(Duration timeout = absl::InfiniteDuration(),
                           std::stop_token cancel = {}) const;

  const std::string& path() const;
  int permits() const { return permits_; }

 private:
  std::shared_ptr<Client> client_;
  int permits_;
  std::shared_ptr<const internal::PathQueue> queue_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_SEMAPHORE_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_READ_WRITE_LOCK_H_
#define ZKRECIPES_READ_WRITE_LOCK_H_

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

using ReadWriteLockOptions = AcquireOptions;

// A lock that many readers hold at once, or one writer. FIFO: a queued writer holds back the
// readers behind it, and no contender starves. A reader watches the nearest writer in front, a
// writer the next contender in front. A Lock on the same path queues as a writer.
//
// A writer's token is larger than those of all holders before it, and smaller than those of all
// holders after it. Tokens do not order readers that hold the lock together.
//
// Thread-safe and stateless, like Lock: not re-entrant, and the constructor does no I/O.
// Semantics, ACL permissions and errors are those of Lock (lock.h).
class ReadWriteLock {
 public:
  // REQUIRES: client is not null. An invalid path is reported by each call below.
  ReadWriteLock(std::shared_ptr<Client> client, std::string path,
                const ReadWriteLockOptions& options = {});

  absl::StatusOr<Lease> AcquireShared(const WaitOptions& wait = {}) const;
  absl::StatusOr<Lease> AcquireExclusive(const WaitOptions& wait = {}) const;

  // AlreadyExists (IsBusy) if another contender is in the way: for a reader, also a queued writer.
  absl::StatusOr<Lease> TryAcquireShared(const WaitOptions& wait = {}) const;
  absl::StatusOr<Lease> TryAcquireExclusive(const WaitOptions& wait = {}) const;

  void AcquireSharedAsync(WaitOptions wait,
                          absl::AnyInvocable<void(absl::StatusOr<Lease>) &&> done) const;
  void AcquireExclusiveAsync(WaitOptions wait,
                             absl::AnyInvocable<void(absl::StatusOr<Lease>) &&> done) const;
  LeaseAwaitable CoAcquireShared(Duration timeout = absl::InfiniteDuration(),
                                 std::stop_token cancel = {}) const;
  LeaseAwaitable CoAcquireExclusive(Duration timeout = absl::InfiniteDuration(),
                                    std::stop_token cancel = {}) const;

  // In a loop until `stop`: acquires, and runs work while it holds the lock. lease_work.h has the
  // contract and the errors.
  absl::Status RunWhileHoldingShared(std::stop_token stop, LeaseWork work,
                                     const RunOptions& options = {}) const;
  absl::Status RunWhileHoldingExclusive(std::stop_token stop, LeaseWork work,
                                        const RunOptions& options = {}) const;

  // These change from reading to writing, and back, with no other writer in between. `shared`, or
  // `exclusive`, is a lease of this lock from this client. On OK it is released in the background;
  // otherwise it is unchanged. Aborted if it is lost meanwhile; InvalidArgument if it belongs to
  // another path, mode or client. Neither call queues again in a new session.
  //
  // An upgrade waits for the other readers to leave. It fails at once with FailedPrecondition if a
  // writer is already queued (another upgrade counts), since that writer waits for this reader. The
  // new token is larger than any before.
  absl::StatusOr<Lease> Upgrade(Lease& shared, const WaitOptions& wait = {}) const;
  // A downgrade takes the writer's place in the queue and keeps its token: queued writers stay
  // behind it, and readers before the next writer are let in. It waits only for the network.
  absl::StatusOr<Lease> Downgrade(Lease& exclusive, const WaitOptions& wait = {}) const;

  // The same without blocking. Keep the old lease until the answer, since its destruction would
  // release it; it may be moved meanwhile. Once it is released, its state() is kReleased.
  // `done` runs once, on the client's executor.
  void UpgradeAsync(Lease& shared, WaitOptions wait,
                    absl::AnyInvocable<void(absl::StatusOr<Lease>) &&> done) const;
  void DowngradeAsync(Lease& exclusive, WaitOptions wait,
                      absl::AnyInvocable<void(absl::StatusOr<Lease>) &&> done) const;
  LeaseAwaitable CoUpgrade(Lease& shared, Duration timeout = absl::InfiniteDuration(),
                           std::stop_token cancel = {}) const;
  LeaseAwaitable CoDowngrade(Lease& exclusive, Duration timeout = absl::InfiniteDuration(),
                             std::stop_token cancel = {}) const;

  const std::string& path() const;

 private:
  std::shared_ptr<Client> client_;
  std::shared_ptr<const internal::PathQueue> queue_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_READ_WRITE_LOCK_H_

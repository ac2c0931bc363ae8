// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECURSIVE_LOCK_H_
#define ZKRECIPES_RECURSIVE_LOCK_H_

#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "zkrecipes/client.h"
#include "zkrecipes/lease.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/wait_options.h"

namespace [[gnu::visibility("default")]] zkrecipes {

namespace [[gnu::visibility("hidden")]] internal {
class LeasesByOwner;
struct OwnedLease;
}  // namespace internal

// One of an owner's holds on a RecursiveLock. All holds of an owner share one Lease, with its node,
// token and deadline. The last one releases the Lease.
//
// Const methods are thread-safe. Only Release blocks. In a forked child it is inert, as a Lease is.
class [[nodiscard]] RecursiveLease {
 public:
  RecursiveLease(RecursiveLease&&) noexcept = default;
  // Gives up the target's own hold, as the destructor does.
  RecursiveLease& operator=(RecursiveLease&& other) noexcept;
  // Gives up this hold. The owner's last one releases the lease, in the background; never blocks.
  ~RecursiveLease();

  // The lease that the owner's holds share. Valid as long as this object. A moved-from object gives
  // a moved-from lease.
  const Lease& lease() const;

  // Gives up this hold. The owner's last one deletes the node and waits for the confirmation; the
  // others return at once.
  // Errors: those of Lease::Release.
  absl::Status Release(const WaitOptions& wait = {}) &&;

 private:
  friend class internal::LeasesByOwner;
  explicit RecursiveLease(std::shared_ptr<internal::OwnedLease> owned);

  std::shared_ptr<internal::OwnedLease> owned_;  // null when moved from
};

// A Lock that its owner may acquire again: a repeated acquire is granted at once, without a
// request, and counted. An owner is a name that the user gives to the holder: a task, a request, a
// thread. Different owners queue for the lock like other contenders, also within one process.
//
// Prefer Lock. Most repeated acquires are bugs: a function takes a lock that its caller holds, and
// assumes that nothing is half done when it begins, and that others see its result when it ends.
// With a Lock the second acquire waits, which shows the bug. Here the function begins in the middle
// of its caller's work, under its caller's token and the rest of its deadline, and when it ends the
// lock is still held. RecursiveLock is for code that allows for this, such as a tree of operations
// each of which may also be called alone.
//
// Copies share their owners: an owner must acquire again on the same object, or a copy of it.
// Objects constructed separately for one path queue behind each other, and an owner of both would
// wait for itself.
//
// Thread-safe. Owners may change threads. The constructor does no I/O.
//
// Its errors are those of Lock, and these, which concern the owner:
//   InvalidArgument     the owner's name is empty
//   FailedPrecondition  the owner is already acquiring the lock, on another thread: work that runs
//                       in parallel needs two owners
//   Aborted             the lease that this owner holds is lost. The owner gets no new one until it
//                       has given up all of its holds: its outer section must not go on
class RecursiveLock {
 public:
  // REQUIRES: client is not null. An invalid path is reported by each call below.
  RecursiveLock(std::shared_ptr<Client> client, std::string path, const LockOptions& options = {});

  // Waits until the lock is granted. Returns at once if `owner` holds it.
  absl::StatusOr<RecursiveLease> Acquire(const std::string& owner,
                                         const WaitOptions& wait = {}) const;

  // AlreadyExists (IsBusy) if another contender is in the way. See Lock::TryAcquire.
  absl::StatusOr<RecursiveLease> TryAcquire(const std::string& owner,
                                            const WaitOptions& wait = {}) const;

  // Does not block. `done` runs exactly once, on the client's executor. If the executor destroys it
  // without running it, a hold that was granted is given up.
  void AcquireAsync(const std::string& owner, WaitOptions wait,
                    absl::AnyInvocable<void(absl::StatusOr<RecursiveLease>) &&> done) const;

  const std::string& path() const;

 private:
  std::shared_ptr<Client> client_;
  std::shared_ptr<internal::LeasesByOwner> owners_;
};

// A name for the calling thread, as an owner. No other thread of this process ever gets it.
std::string OwnerOfThisThread();

}  // namespace zkrecipes

#endif  // ZKRECIPES_RECURSIVE_LOCK_H_

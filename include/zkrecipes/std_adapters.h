// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_STD_ADAPTERS_H_
#define ZKRECIPES_STD_ADAPTERS_H_

#include <chrono>
#include <memory>
#include <string>
#include <system_error>

#include "absl/time/time.h"

#include "zkrecipes/client.h"
#include "zkrecipes/duration.h"
#include "zkrecipes/lease.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/read_write_lock.h"

// Lock and ReadWriteLock for the standard library's guards:
//
//   zkrecipes::DistributedMutex mutex(client, "/locks/ledger");
//   std::unique_lock lock(mutex);
//   Write(mutex.lease().token(), entry);
//
// Where other headers return an absl::Status, this one throws a std::system_error of
// std::generic_category(), whose what() begins with that status. Which status has which causes is
// in lock.h. By std::errc:
//
//   invalid_argument            the path or the options (InvalidArgument)
//   timed_out                   a try: no answer from the ensemble, or no proof that the session
//                               lives, within a session timeout (DeadlineExceeded, Unavailable).
//                               lock(): first in the queue, and no such proof in two (Unavailable)
//   identifier_removed          another client deleted the node while it was queued (Aborted)
//   permission_denied           PermissionDenied, Unauthenticated
//   state_not_recoverable       FailedPrecondition, such as a closed client
//   resource_unavailable_try_again   ResourceExhausted, such as a quota
//   io_error                    anything else
//   resource_deadlock_would_occur   the calling thread already holds this mutex, or lost it and
//                               has not unlocked it yet
//
// A lost connection or session is not an error: the wait goes on.

namespace [[gnu::visibility("default")]] zkrecipes {

namespace internal {

class Adapter;

// Common to both classes. As with std::mutex, the owner is a thread: the thread that locks must
// unlock, and may hold a mutex only once.
class AdapterBase {
 public:
  AdapterBase(const AdapterBase&) = delete;
  AdapterBase& operator=(const AdapterBase&) = delete;

  // Blocks until the mutex is held, however long that takes. After a failed try_lock it first
  // pauses for a random time of a few round trips, so that two threads that take the same mutexes
  // in different orders with std::lock do not block each other for ever.
  void lock() { Lock(Mode::kExclusive); }
  // False if another contender holds it or queues for it, or a lock delay is not over. Blocks for a
  // round trip or two, after idleness or a reconnection for the wait for a proof
  // (LeaseOptions::wait_for_proof), and at most for the client's session timeout.
  bool try_lock() { return TryLock(Mode::kExclusive); }
  // False if it was not acquired in time, for any reason. Zero or less: the same as try_lock.
  template <typename Rep, typename Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& timeout) {
    return TryLockFor(Mode::kExclusive, Duration(timeout));
  }
  // `point`'s clock is read once, at the start; setting that clock later changes nothing.
  template <typename Clock, typename Since>
  bool try_lock_until(const std::chrono::time_point<Clock, Since>& point) {
    return TryLockFor(Mode::kExclusive, Until(point));
  }

  // Releases the mutex; does not block, and does not fail, even without a network. The request is
  // sent at once, before the client's next one, and retried in the background until the node is
  // gone or its session has expired. A mutex that was lost is forgotten. REQUIRES: the calling
  // thread holds it.
  void unlock() noexcept;

  // The lease behind the mutex that the calling thread holds: its token, for the guarded resource,
  // and ended(), which has no counterpart in a standard mutex. Valid until this thread unlocks.
  // REQUIRES: the calling thread holds the mutex; it may have been lost meanwhile.
  const Lease& lease() const;

  const std::string& path() const;

 protected:
  enum class Mode { kExclusive, kShared };

  explicit AdapterBase(std::shared_ptr<Adapter> adapter);
  // Releases in the background the leases that any thread still holds.
  ~AdapterBase();

  void Lock(Mode mode);
  bool TryLock(Mode mode);
  bool TryLockFor(Mode mode, absl::Duration timeout);

  // Subtracted as absl's durations, which saturate: a difference of std's may overflow.
  template <typename Clock, typename Since>
  static absl::Duration Until(const std::chrono::time_point<Clock, Since>& point) {
    return absl::Duration(Duration(point.time_since_epoch())) -
           absl::Duration(Duration(Clock::now().time_since_epoch()));
  }

 private:
  const std::shared_ptr<Adapter> adapter_;
};

}  // namespace internal

// A Lock that is Lockable and TimedLockable: for std::unique_lock, std::scoped_lock, std::lock and
// std::condition_variable_any, also together with local mutexes.
//
// Thread-safe. Threads of one process queue like all other contenders, in order of arrival. Not
// re-entrant. A thread that lost the mutex still has to unlock it; others may hold it before that.
class DistributedMutex : public internal::AdapterBase {
 public:
  // REQUIRES: client is not null. No I/O.
  DistributedMutex(std::shared_ptr<Client> client, std::string path,
                   const LockOptions& options = {});
};

// A ReadWriteLock that is also SharedTimedLockable: for std::shared_lock, too. Everything said
// of DistributedMutex holds. Each thread that reads has a lease of its own.
class DistributedSharedMutex : public internal::AdapterBase {
 public:
  // REQUIRES: client is not null. No I/O.
  DistributedSharedMutex(std::shared_ptr<Client> client, std::string path,
                         const ReadWriteLockOptions& options = {});

  void lock_shared() { Lock(Mode::kShared); }
  // False if a writer holds it or queues for it.
  bool try_lock_shared() { return TryLock(Mode::kShared); }
  template <typename Rep, typename Period>
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& timeout) {
    return TryLockFor(Mode::kShared, Duration(timeout));
  }
  template <typename Clock, typename Since>
  bool try_lock_shared_until(const std::chrono::time_point<Clock, Since>& point) {
    return TryLockFor(Mode::kShared, Until(point));
  }
  void unlock_shared() noexcept { unlock(); }
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_STD_ADAPTERS_H_

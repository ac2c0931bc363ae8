// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_CACHED_LOCK_H_
#define ZKRECIPES_CACHED_LOCK_H_

#include <compare>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "zkrecipes/acquire_options.h"
#include "zkrecipes/client.h"
#include "zkrecipes/duration.h"
#include "zkrecipes/fencing_pass.h"
#include "zkrecipes/fencing_token.h"
#include "zkrecipes/lease.h"
#include "zkrecipes/wait_options.h"

namespace [[gnu::visibility("default")]] zkrecipes {

namespace [[gnu::visibility("hidden")]] internal {
class LocalQueue;
struct Tenure;
}  // namespace internal

// Of one CachedLock and its copies.
struct CachedLockOptions {
  // InvalidArgument, also for what the client's options say where these do not: hold_at_most and
  // alive_within, which would end what many turns share; EndsAt::kExpiry and, without a lock_delay,
  // wait_for_proof = false, by which turns would begin that are not proven. Listeners hear of
  // tenures as of any lock's leases, and of turns by EventListener::OnTurns.
  AcquireOptions acquire = {};

  // Once another contender waits, this process takes at most so many more turns, and none that
  // begins later than max_time_once_asked: then the node goes. A turn that goes on is not
  // interrupted. 0: none. Neither is negative.
  int max_turns_once_asked = 64;
  Duration max_time_once_asked = absl::Milliseconds(50);

  // A lock that no thread has taken for this long is let go, at the latest after twice the time.
  // At least a millisecond; infinite: never.
  Duration keep_idle_for = absl::Seconds(10);
};

// The token of a turn: ordered by the first number, then by the second.
struct TurnToken {
  FencingToken token = {};  // the tenure's
  int64_t turn = 0;         // from 1 in each tenure

  std::string ToString() const;  // "8589934593.7"
  friend auto operator<=>(const TurnToken&, const TurnToken&) = default;
};

// A turn of a CachedLock, as a value: whoever owns it holds the lock. All turns of a tenure share
// one Lease. Const methods are thread-safe; nothing blocks. In a forked child it is inert, as a
// Lease is.
class [[nodiscard]] CachedLease {
 public:
  CachedLease(CachedLease&&) noexcept = default;
  // Gives up the target's own turn, as the destructor does.
  CachedLease& operator=(CachedLease&& other) noexcept;
  // Ends the turn. The next thread of this process may have its own at once; the node goes, in the
  // background, only if another contender waits, or the lock does not stay (see CachedLock).
  ~CachedLease();

  // The question to ask before each act: see Lease::believed.
  bool believed() const;
  // Show this to the guarded resource: it has the turn. It has no token for a moved-from object.
  FencingPass pass() const;
  TurnToken token() const;
  // The lease that the tenure's turns share: remaining(), node(), Verify(). Of the tenure, not of
  // the turn, are
  //   token(), pass()   without the turn: a resource that compares turns refuses them once it has
  //                     seen one; one that does not would admit a late write of an earlier turn
  //   ended()           is not requested at the end of a turn. With an executor that runs at once
  //                     its callbacks run inside whichever thread's call ends the tenure
  //   GuardedWrite      with this lease: it is refused once the tenure is over, and may be
  //                     committed in a later turn of it. Wait for its answer before the turn ends
  // Valid as long as this object.
  const Lease& tenure() const;

  // Ends the turn, as the destructor does.
  //   OK        it was believed until now
  //   Aborted   the lease had been lost; the message says why
  //   FailedPrecondition   a moved-from object; a forked child
  absl::Status Release() &&;

 private:
  friend class internal::LocalQueue;
  CachedLease(std::shared_ptr<internal::LocalQueue> queue, std::shared_ptr<internal::Tenure> tenure,
              int64_t turn);

  std::shared_ptr<internal::LocalQueue> queue_;
  std::shared_ptr<internal::Tenure> tenure_;  // null when moved from
  int64_t turn_;
};

// A Lock that stays where it is used: after a release its node stays with this process until
// another contender queues for it. Meanwhile the threads of the process take it again and hand it
// to each other without a request, in a fraction of a microsecond instead of two round trips.
// Contenders of other processes, also Curator's, kazoo's and `zkr`'s, see an ordinary holder.
//
//   - The node stays only once the lock has proven to be this process's own: when it was taken
//     three times in a row with no other contender between. One that stayed in vain must prove it
//     for longer the next time. So processes that take turns have an ordinary Lock.
//   - From the moment when this process has heard that another contender has come (by a watch
//     event; after a lost connection, once it is back), an idle lock is let go at once, and a held
//     one after at most CachedLockOptions::max_turns_once_asked further turns; also if the other
//     has gone again, and for any other child of the path that comes or goes.
//   - A *try* of another process (Lock::TryAcquire) does not queue, so nobody hears of it: it finds
//     the lock busy for as long as it stays here. Have the others wait, if only for a moment.
//   - A node that stays keeps the session proven, with the writes of any held lease.
//
// Take it where mostly one process uses the lock, many times a second; take Lock where processes
// compete, or where a resource knows only the czxid and one process's threads must not write late.
//
// At most one believes, as with Lock: the node is there whenever a turn is believed, and no turn
// begins after the lease's deadline. The *token* is a pair: the tenure's czxid, and the turn from 1
// on in each tenure. FencingPass carries both, and everything of this library that checks passes
// compares both.
//
// Copies share the node and its local queue, which is FIFO. Objects constructed separately for one
// path are contenders like any others: keep one for each path. When the last copy and the last
// CachedLease are gone, the node goes, in the background.
//
// Thread-safe. Not re-entrant. The constructor does no I/O.
//
// Errors: those of Lock (lock.h), and InvalidArgument for CachedLockOptions. All local waiters
// share one place in the path's queue, so an error of it, such as Aborted, is the answer of all.
// DeadlineExceeded says how many are in front in this process and in the queue, and not who holds.
class CachedLock {
 public:
  // REQUIRES: client is not null. An invalid path is reported by each call below.
  CachedLock(std::shared_ptr<Client> client, std::string path,
             const CachedLockOptions& options = {});

  // Waits until it is this caller's turn. Does not wait if the lock is idle in this process.
  absl::StatusOr<CachedLease> Acquire(const WaitOptions& wait = {}) const;

  // AlreadyExists (IsBusy) if another thread or contender is in the way. See Lock::TryAcquire.
  absl::StatusOr<CachedLease> TryAcquire(const WaitOptions& wait = {}) const;

  // Does not block. `done` runs exactly once, on the client's executor. If the executor destroys it
  // without running it, a turn that was granted is given up.
  void AcquireAsync(WaitOptions wait,
                    absl::AnyInvocable<void(absl::StatusOr<CachedLease>) &&> done) const;

  const std::string& path() const;

 private:
  std::shared_ptr<Client> client_;
  std::shared_ptr<internal::LocalQueue> local_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_CACHED_LOCK_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_SESSION_VALIDITY_H_
#define ZKRECIPES_LIB_SESSION_SESSION_VALIDITY_H_

#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "lib/base/mutex.h"

namespace zkrecipes::session {

// Until when the leases of one session can be believed; the only place that says so. Leases, the
// contender's runner, and the heartbeat that announces the end all ask it, each with the time of
// its own question: a process that was stopped over a deadline finds its leases lost in the first
// call after it, whether or not a timer has run.
//
// A session's life consists of periods. One ends for good at its last proven deadline, or when
// nothing could be proven in time. It is never believed again, even if the session turns out to be
// alive: BeginPeriod then begins the next one, for new grants. A lease that was granted in a
// period:
//
//   kUnproven --Prove--> kBelieved <--overdue or disconnected / Prove--> kSuspect
//       |                    |                                              |
//       +--------------------+---- its deadline, Expire ---------------------+--> kLapsed, kExpired
//
// A lease that does not lapse (EndsAt::kExpiry) outlives its period: only Expire ends it, and it is
// kSuspect whenever its session is not proven any more.
//
// In lock-delay mode a lease also has a limit of its own: the delay lifetime after the sending of
// the last write that was committed. The next holder waits out the lock delay before it is granted,
// so until then the lease needs no proof, and kUnproven counts as kBelieved.
//
// Pure: the caller says what time it is. Thread-safe (the session writes, any thread asks), does
// not block.
class SessionValidity {
 public:
  enum class State { kUnproven, kBelieved, kSuspect, kLapsed, kExpired };

  // What a lease rests on.
  struct Basis {
    int period = 0;                                               // the one in which it was granted
    bool lapses = true;                                           // it ends with its period
    std::optional<absl::Duration> delay_lifetime = std::nullopt;  // nullopt: not in lock-delay mode
  };

  enum class Proved { kTooLate, kFirst, kMore };
  // The ensemble cannot have expired the session before `deadline`; more should be proven before
  // `overdue`. kTooLate: the period has ended. kFirst: it was unproven until now. `confirmed`: as
  // Confirm.
  Proved Prove(base::BootTime deadline, base::BootTime overdue, base::BootTime now,
               base::BootTime confirmed = {});
  // A write sent at `sent` was committed: the session was alive then.
  void Confirm(base::BootTime sent);
  // Ends the period then if it is still unproven.
  void GiveUpAt(base::BootTime when);
  // The next period, in which nothing has been proven yet.
  void BeginPeriod();
  // The server that resumed the session grants less than was proven.
  void Shorten(base::BootTime deadline);
  void SetConnected(bool connected);
  // The session is known to have expired, at `now`: a period whose deadline came before has lapsed.
  void Expire(base::BootTime now);

  int period();
  // The state of a lease at `now`. Ends the period for good if its time has passed.
  State At(base::BootTime now, const Basis& basis);
  // Until when a lease is believed unless more is proven; the past if it is not believed at `now`.
  base::BootTime DeadlineAt(base::BootTime now, const Basis& basis);
  // The same for a lease that would be granted now: the past unless the period is proven.
  base::BootTime ProvenUntil(base::BootTime now);
  // When the period will end by itself unless something is proven before that; BootTime() if it has
  // ended by `now`, for good.
  base::BootTime EndsAt(base::BootTime now);

 private:
  State AtLocked(base::BootTime now, const Basis& basis) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  base::BootTime DeadlineLocked(base::BootTime now, const Basis& basis)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  base::BootTime EndLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasEnded(base::BootTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  base::Mutex mutex_;
  int period_ ABSL_GUARDED_BY(mutex_) = 0;
  int proven_in_ ABSL_GUARDED_BY(mutex_) = -1;  // the last period in which anything was proven
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;  // the current period
  bool expired_ ABSL_GUARDED_BY(mutex_) = false;
  base::BootTime deadline_ ABSL_GUARDED_BY(mutex_);  // of the current period, once proven
  base::BootTime overdue_ ABSL_GUARDED_BY(mutex_);
  base::BootTime give_up_ ABSL_GUARDED_BY(mutex_) = base::BootTime::InfiniteFuture();
  base::BootTime confirmed_ ABSL_GUARDED_BY(mutex_);  // when the last committed write was sent
  bool connected_ ABSL_GUARDED_BY(mutex_) = true;
};

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_SESSION_VALIDITY_H_

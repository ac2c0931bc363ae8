// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_SESSION_VALIDITY_H_
#define ZKRECIPES_LIB_SESSION_SESSION_VALIDITY_H_

#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "lib/base/mutex.h"

namespace zkrecipes::session {

// A period of one session during which what was granted in it can be believed; and the only place
// that says until when. Leases, the contender's runner, and the heartbeat that announces the end
// all ask At and DeadlineAt, each with the time of its own question: a process that was stopped
// over a deadline finds its leases lost in the first call after it, whether or not a timer has run.
//
// It ends for good when the session is known to have expired, at the last proven deadline, or when
// nothing could be proven in time. A period that has ended is never believed again, even if the
// session turns out to be alive: a new SessionValidity then begins, for new grants.
//
//   kUnproven --Prove--> kBelieved <--overdue or disconnected / Prove--> kSuspect
//       |                    |                                              |
//       +--------------------+---- deadline, Expire--------------------------+--> kLost
//
// In lock-delay mode a lease also has a limit of its own: `lifetime` after the sending of the last
// write that was committed. The next holder waits out the lock delay before it is granted, so until
// then the lease needs no proof, and kUnproven counts as kBelieved.
//
// Pure: the caller says what time it is. Thread-safe (the session writes, any thread asks), does not
// block.
class SessionValidity {
 public:
  enum class State { kUnproven, kBelieved, kSuspect, kLost };
  using Lifetime = std::optional<absl::Duration>;  // nullopt: not in lock-delay mode

  // `lapses` false: only Expire ends it; it is suspect from its deadline on. (EndsAt::kExpiry)
  explicit SessionValidity(bool lapses) : lapses_(lapses) {}

  enum class Proved { kTooLate, kFirst, kMore };
  // The ensemble cannot have expired the session before `deadline`; more should be proven before
  // `overdue`. kTooLate: it has ended. kFirst: it was unproven until now. `confirmed`: as Confirm.
  Proved Prove(base::BootTime deadline, base::BootTime overdue, base::BootTime now,
               base::BootTime confirmed = {});
  // A write sent at `sent` was committed: the session was alive then.
  void Confirm(base::BootTime sent);
  // Ends it then if it is still unproven.
  void GiveUpAt(base::BootTime when);
  // The server that resumed the session grants less than was proven.
  void Shorten(base::BootTime deadline);
  void SetConnected(bool connected);
  // The session is known to have expired.
  void Expire();

  // The state at `now`. Ends it for good if its time has passed.
  State At(base::BootTime now, Lifetime lifetime = std::nullopt);
  // Until when a lease is believed unless more is proven; the past if it is not believed at `now`.
  base::BootTime DeadlineAt(base::BootTime now, Lifetime lifetime = std::nullopt);
  // When it will end by itself unless something is proven before that; BootTime() if it has ended by
  // `now`, for good.
  base::BootTime EndsAt(base::BootTime now);

 private:
  State AtLocked(base::BootTime now, Lifetime lifetime) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  base::BootTime EndLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool LostAt(base::BootTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const bool lapses_;
  base::Mutex mutex_;
  bool proven_ ABSL_GUARDED_BY(mutex_) = false;
  base::BootTime deadline_ ABSL_GUARDED_BY(mutex_);  // once proven
  base::BootTime overdue_ ABSL_GUARDED_BY(mutex_);
  base::BootTime confirmed_ ABSL_GUARDED_BY(mutex_);  // when the last committed write was sent
  base::BootTime give_up_ ABSL_GUARDED_BY(mutex_) = base::BootTime::InfiniteFuture();
  bool connected_ ABSL_GUARDED_BY(mutex_) = true;
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_SESSION_VALIDITY_H_

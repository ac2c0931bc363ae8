// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_SESSION_VALIDITY_H_
#define ZKRECIPES_LIB_SESSION_SESSION_VALIDITY_H_

#include "absl/base/thread_annotations.h"

#include "lib/base/boot_time.h"
#include "lib/base/mutex.h"

namespace zkrecipes::session {

// A stretch of one session's life during which what was granted in it can be believed. It ends for
// good when the session is known to be gone, at the deadline that was proven last, or when nothing
// could be proven in time. Leases read it from any thread; the session writes it. What has ended
// once is never believed again, even if the session turns out to be alive: then a new SessionValidity
// begins, for new grants.
//
//   kUnproven --Prove--> kBelieved <--overdue or disconnected / Prove--> kSuspect
//       |                    |                                              |
//       +--------------------+---- deadline, Expire--------------------------+--> kLost
//
// Pure: the caller says what time it is. Thread-safe, does not block.
class SessionValidity {
 public:
  enum class State { kUnproven, kBelieved, kSuspect, kLost };

  // `lapses` false: only Expire ends it; it is suspect from its deadline on.
  explicit SessionValidity(bool lapses) : lapses_(lapses) {}

  // Nobody can have expired the session before `deadline`; there should be news before `overdue`.
  // False: too late, the life is over.
  bool Prove(base::BootTime deadline, base::BootTime overdue, base::BootTime now);
  // A write sent at `sent` was committed: the session was alive then.
  void Confirm(base::BootTime sent);
  // The latest of these.
  base::BootTime confirmed();
  // Over if still unproven then.
  void GiveUpAt(base::BootTime when);
  // The server that the session came back to grants less than was proven.
  void Shorten(base::BootTime deadline);
  void SetConnected(bool connected);
  // The session is known to have expired.
  void Expire();

  // What holds at `now`. Ends the life if its time has passed.
  State At(base::BootTime now);
  // Until when it is proven; the past while unproven, and once it is over.
  base::BootTime deadline();
  // When it will be over by itself, unless something is proven before.
  base::BootTime ends_at();

 private:
  base::BootTime EndsAt() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool LostAt(base::BootTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const bool lapses_;
  base::Mutex mutex_;
  bool proven_ ABSL_GUARDED_BY(mutex_) = false;
  base::BootTime deadline_ ABSL_GUARDED_BY(mutex_);  // once proven
  base::BootTime overdue_ ABSL_GUARDED_BY(mutex_);
  base::BootTime confirmed_ ABSL_GUARDED_BY(mutex_);
  base::BootTime give_up_ ABSL_GUARDED_BY(mutex_) = base::BootTime::InfiniteFuture();
  bool connected_ ABSL_GUARDED_BY(mutex_) = true;
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_SESSION_VALIDITY_H_

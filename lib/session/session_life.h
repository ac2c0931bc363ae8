// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_SESSION_LIFE_H_
#define ZKRECIPES_LIB_SESSION_SESSION_LIFE_H_

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "lib/base/mutex.h"

namespace zkrecipes::session {

// A stretch of one session's life during which what was granted in it can be believed: it ends for
// good when the session is known to be gone, or when nothing was heard from the ensemble for the
// session timeout. Leases read it from any thread; the session writes it. What has ended once is
// never believed again, even if the session turns out to be alive: a session that is heard of again
// gets a new SessionLife, for new grants.
//
// Pure: the caller says what time it is. Thread-safe, does not block.
class SessionLife {
 public:
  enum class State { kBelieved, kSuspect, kOver };

  SessionLife(base::BootTime heard, absl::Duration timeout) : heard_(heard), timeout_(timeout) {}

  // The ensemble sent something at `when` or later. False: too late, the life is over.
  bool Heard(base::BootTime when, base::BootTime now);
  // The connection is lost (suspect until Resumed) or stands again.
  void SetConnected(bool connected);
  // The server negotiated a new timeout on reconnecting; the smallest one counts, and at once:
  // call Heard for the answer that brought it first.
  void SetTimeout(absl::Duration timeout);
  // The session is known to be gone.
  void End();

  // What holds at `now`. Ends the life if its deadline has passed.
  State At(base::BootTime now);
  base::BootTime deadline();  // the past once it is over

 private:
  base::BootTime Deadline() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return heard_ + timeout_;
  }
  bool OverAt(base::BootTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  base::Mutex mutex_;
  base::BootTime heard_ ABSL_GUARDED_BY(mutex_);  // last
  absl::Duration timeout_ ABSL_GUARDED_BY(mutex_);
  bool connected_ ABSL_GUARDED_BY(mutex_) = true;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_SESSION_LIFE_H_

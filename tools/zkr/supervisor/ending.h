// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_ENDING_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_ENDING_H_

#include "absl/time/time.h"

#include "lib/base/boot_time.h"

namespace zkrecipes::zkr::supervisor {

// The state of a lock at one moment, as far as this process knows it.
struct Hold {
  bool confirmed = true;     // the ensemble has answered lately
  absl::Duration remaining;  // how long no other contender can be granted it; zero: it is lost
};

// Decides when CMD must go, so that it is dead before another contender can be granted the lock,
// and is asked to end while there is still time to do so.
//
//     +------------------------- lost ----------------------+
//     |                                                     v
//   kHeld <--in doubt / confirmed again--> kSuspect --> kAsked --kill_at--> kOver     final
//                                             ask_at, lost
//
// A confirmed lock runs down and is renewed all the time, often with less left than the grace
// period: that alone never ends CMD. When the lock is in doubt, half of what is left is spent
// waiting for better news; CMD gets the other half, or the grace period if that is less. A lock
// that is lost before its time leaves CMD the grace period, or what had been left if that is less.
// Once asked, CMD has to go, whatever is heard later. In every phase, kill_at ends it.
//
// Pure: the caller says what time it is. Not thread-safe.
class Ending {
 public:
  enum class Phase {
    kHeld,
    kSuspect,
    kAsked,  // CMD has been sent SIGTERM, or must be sent it now
    kOver,   // CMD must be killed now
  };
  struct Limits {
    absl::Duration grace;   // between SIGTERM and SIGKILL, at most
    absl::Duration margin;  // what it takes to kill, and to see it done
  };

  Ending() = default;
  explicit Ending(const Limits& limits) : limits_(limits) {}

  // REQUIRES: `now` is not later than the moment that `hold` describes, and never goes back.
  void Check(const Hold& hold, base::BootTime now);
  // The lock is known to be lost. The deadline stays as in the last check: CMD cannot have more
  // time than that. REQUIRES: as for Check.
  void Lose(base::BootTime now);

  Phase phase() const { return phase_; }
  bool lost() const { return lost_; }
  // When CMD must be killed if Check is not called again.
  base::BootTime kill_at() const;
  // When to check again, at the latest.
  base::BootTime next_check() const { return next_check_; }

 private:
  base::BootTime ask_at() const;
  void Ask(base::BootTime now);

  Limits limits_;
  Phase phase_ = Phase::kHeld;
  bool lost_ = false;
  base::BootTime deadline_;
  absl::Duration share_;  // CMD's of what was left when the doubt began
  base::BootTime asked_at_ = base::BootTime::InfiniteFuture();
  base::BootTime next_check_;
};

}  // namespace zkrecipes::zkr::supervisor

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_ENDING_H_

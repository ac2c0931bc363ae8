// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LEASE_OPTIONS_H_
#define ZKRECIPES_LEASE_OPTIONS_H_

#include "absl/time/time.h"

namespace zkrecipes {

// How long the leases of a client can be believed. The first three are what has to be assumed of
// machines and cannot be measured by a client; docs/lease.md says what each is for, and what a
// healthy lease has left with them.
struct LeaseOptions {
  // The clocks of this machine and of the ensemble's leader run at rates that differ by at most
  // this share. From 0 to less than 1.
  double clock_rate_bound = 0.1;
  // The longest that a leader that serves requests takes between two pings to a server: half a
  // tick, and what a busy leader adds. Zero: a quarter of the negotiated session timeout and 100 ms,
  // which is enough where that timeout is two ticks or more. A smaller one that is known to hold
  // makes leases last longer.
  absl::Duration ping_gap = absl::ZeroDuration();
  // Taken off for the time it takes to act when the deadline comes.
  absl::Duration slack = absl::Milliseconds(2);

  // Acquire answers only once its lease is proven (kHeld). Otherwise it may be kUnproven for the
  // first moments after a reconnection or after idleness, or where the ensemble cannot be reached.
  bool wait_for_proof = false;

  // When a lease ends whose session is not known to have expired.
  enum class EndsAt {
    kDeadline,  // at the deadline: no other contender can have been granted before lost() fires
    kExpiry,  // not before the ensemble says so: another may by then have held the lock for a while,
              // so a resource that matters must check the fencing token
  };
  EndsAt ends_at = EndsAt::kDeadline;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_LEASE_OPTIONS_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LEASE_OPTIONS_H_
#define ZKRECIPES_LEASE_OPTIONS_H_

#include "absl/time/time.h"

#include "zkrecipes/duration.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// How long a client's leases can be believed. The first three options are assumptions about
// machines that a client cannot measure; docs/lease.md explains each, and says how much time a
// healthy lease has left.
struct LeaseOptions {
  // The clocks of this machine and of the ensemble's leader run at rates that differ by at most
  // this fraction. From 0 to less than 1.
  double clock_rate_bound = 0.1;
  // The longest time between two pings from the leader to a server, while the leader serves
  // requests: half a tick, plus what a busy leader adds. Zero selects a quarter of the negotiated
  // session timeout plus 100 ms, which is enough if that timeout is two ticks or more. If you know
  // a smaller bound, set it: leases then last longer. An acquire is refused (FailedPrecondition) if
  // no lease can be proven with the session timeout that the servers grant: below 0.58 s, or with a
  // ping gap of more than about 0.58 of it. A lock delay, or kExpiry without wait_for_proof, needs
  // no proof.
  Duration ping_gap = absl::ZeroDuration();
  // Subtracted from the deadline: the time that it takes to give notice of the end to all leases of
  // the client (see Lease::ended), and to act on it.
  Duration slack = absl::Milliseconds(10);

  // The reserve that a held lease always has, and its price: docs/lease.md has the table, and
  // `zkr doctor --plan` calculates. One pace a client, since all leases of a session live by the
  // same beats.
  enum class Pace {
    kSteady,  // remaining() never falls under 0.4 of the session timeout, if that is 4 s or more,
              // the margins are the default, there is no lock delay, and each answer takes less
              // than a 200th of it; from a ping gap after the grant on. At 10 s a session that
              // holds, however many leases, commits 1.3 writes a second
    kSparse,  // for fleets of thousands of holders: 0.43 writes, and a tenth of the timeout is left
  };
  Pace pace = Pace::kSteady;

  // These two are defaults for AcquireOptions.
  //
  // If true, each form of acquire gives a lease that is kHeld: proven, or in lock-delay mode. So
  // believed() is true when the call returns. A session that has held a lease within three session
  // timeouts (kSparse: one) is proven, and the wait costs nothing. After a longer idleness it takes
  // 0.1 s and three round trips, after a reconnection up to 0.3 T + 0.3 s, at the head of the queue
  // (with kSparse and a short T, or margins near their limits, longer: docs/lease.md).
  // The timeout of the call bounds this wait, too: without a proof in time it returns what it
  // returns for a lock that is not free in time (lock.h), and the node leaves the queue. So a call
  // with less time than that may fail although the lock is free. The session is proven all the
  // same, and for a timeout: the next call within that time need not wait.
  // If false, the lease may be kUnproven meanwhile: for a caller that wants the token at once, and
  // asks believed() before each act.
  bool wait_for_proof = true;

  // When a lease ends if its session is not known to have expired.
  enum class EndsAt {
    kDeadline,  // at the deadline: no other contender can have been granted before it
    kExpiry,    // when the ensemble reports it: by then another contender may have held the lock
                // for a while, so the resource must check the fencing token. From its deadline on
                // such a lease is kSuspect, and its remaining() is zero
  };
  EndsAt ends_at = EndsAt::kDeadline;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_LEASE_OPTIONS_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LEASE_END_H_
#define ZKRECIPES_LEASE_END_H_

#include <ostream>

#include "zkrecipes/version.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// Why a lease ended. All but the first are losses.
//
// Servers that have lost their data refuse a session for as long as it lasts. This has no reason of
// its own: by then a lease has long ended at its deadline, or it ends as if its session had expired
// (LeaseOptions::EndsAt::kExpiry). Calls that wait meanwhile name the servers and what they said.
enum class LeaseEnd {
  kReleased,        // by this process
  kDeadlinePassed,  // remaining() ran out before the ensemble confirmed anything more
  kSessionExpired,  // the ensemble reported it; or the node was gone and the session unproven
  kNodeDeleted,     // by another client, while the session was known to live
  kClientClosed,    // the client that acquired it was closed or destroyed
  kNotAlive,        // no StillAlive in time: AcquireOptions::alive_within
  kHeldTooLong,     // AcquireOptions::hold_at_most
};
std::ostream& operator<<(std::ostream& out, LeaseEnd end);

}  // namespace zkrecipes

#endif  // ZKRECIPES_LEASE_END_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_ACQUIRE_OPTIONS_H_
#define ZKRECIPES_ACQUIRE_OPTIONS_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"

#include "zkrecipes/client.h"
#include "zkrecipes/duration.h"
#include "zkrecipes/event_listener.h"
#include "zkrecipes/lease_options.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// What belongs to the acquires of one recipe. What breaks a rule is an InvalidArgument of every
// call that acquires.
struct AcquireOptions {
  // If set, instead of the client's LeaseOptions and ClientOptions.
  std::optional<bool> wait_for_proof = {};
  std::optional<LeaseOptions::EndsAt> ends_at = {};
  std::optional<NameDialect> dialect = {};
  // What a Lock's nodes are called in Curator's dialect, so that the recipe of Curator's that
  // shares the path sees them; unset: kLock (docs/interoperability.md). For a Lock only: a
  // ReadWriteLock's names are fixed, and an election has LeaderElectionOptions::marker.
  std::optional<NodeMarker> marker = {};
  // An acquire that sees contenders of another library which would not wait for its node is refused
  // with FailedPrecondition, which names them. Set this if they exclude each other all the same: a
  // kazoo Lock with extra_lock_patterns, for example.
  bool beside_blind = false;
  // Of the nodes that these acquires create: contenders, missing ancestors, the record below.
  std::optional<std::vector<Acl>> acl = {};

  // Nonzero enables lock-delay mode, which assumes no bound on the leader's ping interval
  // (docs/lease.md). After an exclusive holder that vanished without a release (it crashed, or lost
  // its lease), the next grant waits this long, whichever contender gets it and however often the
  // wait is interrupted; a try waits too. An exclusive lease is believed no longer than this after
  // its last confirmed write. Use at least the session timeout; a delay that leaves a lease less
  // than an eighth of it is refused. All users of the path must set the same delay; other
  // libraries' clients do not wait. Readers wait after a writer that vanished; after a reader that
  // vanished nothing waits, and a reader's lease rests on its deadline alone. On a path with
  // readers the other contenders are a ReadWriteLock's writers, not Locks. Costs a read per grant,
  // for exclusive ones also a write (for a ReadWriteLock's writer one more read), and a write per
  // release; leaves a permanent child "zkrecipes-holder" in the path. Also needs the ACL permission
  // write.
  Duration lock_delay = absl::ZeroDuration();

  // A lease that must show that the work under it goes on: without a call of Lease::StillAlive for
  // so long, it ends (kNotAlive). state() is kLost from that instant, whatever a hung process does;
  // the node is then deleted. More than zero.
  Duration alive_within = absl::InfiniteDuration();

  // How long a lease may be held, counted from the grant: then it ends (kHeldTooLong), as above.
  // More than zero.
  Duration hold_at_most = absl::InfiniteDuration();

  // Hears of these acquires, besides the client's own listener.
  std::shared_ptr<EventListener> listener = {};
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_ACQUIRE_OPTIONS_H_

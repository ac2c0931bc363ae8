// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_ACQUIRE_OPTIONS_H_
#define ZKRECIPES_ACQUIRE_OPTIONS_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "zkrecipes/client.h"
#include "zkrecipes/duration.h"
#include "zkrecipes/event_listener.h"
#include "zkrecipes/lease_options.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// The queue of a path, as each recipe on it has one.
namespace [[gnu::visibility("hidden")]] internal {
struct PathQueue;
}  // namespace internal

// Options of the acquires of one recipe. Every call that acquires returns InvalidArgument for an
// option that breaks its rule.
struct AcquireOptions {
  // Each of these, if set, replaces the client's in LeaseOptions or ClientOptions.
  std::optional<bool> wait_for_proof = {};
  std::optional<LeaseOptions::EndsAt> ends_at = {};
  std::optional<NameDialect> dialect = {};
  // The name of a Lock's nodes in Curator's dialect, by which the recipe of Curator's that shares
  // the path recognises them; unset: kLock (docs/interoperability.md). For a Lock only: a
  // ReadWriteLock's names are fixed, and an election has LeaderElectionOptions::marker.
  std::optional<NodeMarker> marker = {};
  // An acquire is refused with FailedPrecondition if the queue has contenders of another library
  // that would not wait for its node. Set this if they exclude each other nevertheless, such as a
  // kazoo Lock with extra_lock_patterns.
  bool beside_blind = false;
  // The ACL of the nodes that these acquires create: contenders, missing ancestors, and the holder
  // record of lock-delay mode.
  std::optional<std::vector<Acl>> acl = {};

  // Nonzero enables lock-delay mode, which assumes no bound on the leader's ping interval
  // (docs/lease.md). After an exclusive holder that vanished without a release (it crashed, or lost
  // its lease), the next grant waits this long, whichever contender gets it and however often the
  // wait is interrupted; a try waits too. The time counts from when a contender of this client,
  // first in the queue, found that holder gone: calls that give up do not begin it anew. A new
  // session does, unless the client itself has ended the one before, as it does where the ACL
  // forbids deletes. An exclusive lease is believed no longer than this after its last confirmed
  // write.
  //
  // Use at least the session timeout; a delay that leaves a lease less than an eighth of it is
  // refused. All users of the path must set the same delay; other libraries' clients do not wait.
  // Readers wait after a writer that vanished; after a reader that vanished no contender waits, and
  // a reader's lease rests on its deadline alone. On a path with readers the other contenders must
  // be a ReadWriteLock's writers, not Locks.
  //
  // The mode costs a read per grant, for exclusive ones also a write (for a ReadWriteLock's writer
  // one more read), and a write per release. It leaves a permanent child "zkrecipes-holder" in the
  // path, and also needs the ACL permission write.
  Duration lock_delay = absl::ZeroDuration();

  // The lease ends (kNotAlive) when Lease::StillAlive has not been called for this long, so that a
  // holder that hangs loses it. state() is kLost from that instant; the node is then deleted. More
  // than zero.
  Duration alive_within = absl::InfiniteDuration();

  // How long a lease may be held, counted from the grant: then it ends (kHeldTooLong), as above.
  // More than zero.
  Duration hold_at_most = absl::InfiniteDuration();

  // Receives the events of these acquires; the client's listener receives them too.
  std::shared_ptr<EventListener> listener = {};
};

// Whether a try (TryAcquire, TryCampaign, ...) found another contender in its way, or a lock delay
// that was not over in time: AlreadyExists. No other call of a recipe returns that code.
// (GuardedWrite does, for a node that it should create.)
inline bool IsBusy(const absl::Status& status) { return absl::IsAlreadyExists(status); }

}  // namespace zkrecipes

#endif  // ZKRECIPES_ACQUIRE_OPTIONS_H_

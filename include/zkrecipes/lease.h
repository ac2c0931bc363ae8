// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LEASE_H_
#define ZKRECIPES_LEASE_H_

#include <memory>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

#include "zkrecipes/awaitable.h"
#include "zkrecipes/duration.h"
#include "zkrecipes/fencing_pass.h"
#include "zkrecipes/fencing_token.h"
#include "zkrecipes/lease_end.h"
#include "zkrecipes/sequencer.h"
#include "zkrecipes/wait_options.h"

namespace [[gnu::visibility("default")]] zkrecipes {

namespace [[gnu::visibility("hidden")]] internal {
class LeaseState;
struct LeaseMaker;
}  // namespace internal

// A win, as a value: carries the fencing token and gives notice of its end. Owning the Lease is
// holding the lock; recipes keep no "am I locked?" state of their own.
//
//   kUnproven --> kHeld <---------------> kSuspect
//       |           |                        |
//       +-----------+--- lost -> kLost <-----+            final
//       +-----------+--- Release or destruction -> kReleased
//
// Until remaining() runs out, no other contender can have been granted the lock, even if this
// client's server is cut off from its ensemble. This rests on writes that the quorum committed and
// on two assumptions about machines (lease_options.h): a bound on clock rates, and a bound on the
// gap between the leader's pings. The token rests on no assumption: a resource that checks it is
// safe in any case.
//
// state() and remaining() read the clock, so they are exact. ended() is a notice: it is sent when
// remaining() runs out, and arrives once two threads have woken up and the callbacks of the
// client's other leases that end then have run. LeaseOptions::slack, which is subtracted from
// remaining(), covers this delay: its 10 ms are enough for 4,000 leases with short callbacks, on a
// machine with a processor to spare. On a busy machine, and in a process that is paused, the notice
// comes later. Ask believed() before each act that must not come too late.
//
//   kUnproven  granted, but not yet proven: remaining() is zero. Only with `wait_for_proof = false`
//              (lease_options.h): for a moment after a reconnection or idleness, and while the
//              quorum does not answer. Lost if that lasts for the session timeout; with
//              EndsAt::kExpiry, once the session has expired.
//   kHeld      proven by a write that was committed a moment ago
//   kSuspect   the connection is lost or the quorum's next answer is overdue; still proven while
//              remaining() is positive, which may run out with EndsAt::kExpiry (lease_options.h)
//   kLost      see LeaseEnd. Final, whatever the ensemble says later.
//   kReleased  by this process
//
// Closing or destroying the client ends its leases (kLost, kClientClosed), so keep the client for
// as long as a lease is held.
//
// Const methods are thread-safe. Only Verify and Release block; their other forms do not. In a
// forked child a Lease is inert: its state is kLost, and it sends nothing.
class [[nodiscard]] Lease {
 public:
  enum class State { kUnproven, kHeld, kSuspect, kLost, kReleased };

  Lease(Lease&&) noexcept = default;
  // Releases the target's own lease in the background.
  Lease& operator=(Lease&& other) noexcept;
  // Releases in the background unless already lost or released; never blocks. The node's deletion
  // is retried until it is confirmed or the session has expired.
  ~Lease();

  // Computed from the clock (CLOCK_BOOTTIME) on each call, so it is correct from the first call
  // after a pause of any length. Never kHeld once ended() has fired. kReleased for a moved-from
  // Lease.
  State state() const;
  // The question to ask before each act: may this process believe that it holds the lock? True in
  // kHeld and kSuspect: while remaining() is positive or, with EndsAt::kExpiry, until the ensemble
  // says that the session has expired.
  bool believed() const;

  FencingToken token() const;
  // Show this to the guarded resource with each operation (fencing_gate.h): the token, the mode,
  // and the ensemble's epoch. It has no token for a moved-from Lease.
  FencingPass pass() const;
  // The time from now during which no other contender can be granted the lock, even if the ensemble
  // never answers again. Zero while unproven, and once lost or released.
  absl::Duration remaining() const;
  // Stop is requested once, when the lease is lost or released, on the client's executor;
  // end_reason() says which. Leases that end together share a task there, but a callback that
  // blocks does not hold up the others if the executor has another thread (executor.h). The
  // stop_token outlives the Lease.
  std::stop_token ended() const;
  // nullopt until the lease has ended. kClientClosed in a forked child.
  std::optional<LeaseEnd> end_reason() const;
  // Reports that the work under this lease goes on, for AcquireOptions::alive_within. Returns
  // believed(). Does not block, and costs no request. Without that option it has no other effect.
  bool StillAlive() const;
  // The znode behind the lease, within the client's namespace.
  const std::string& node() const;
  Sequencer sequencer() const;

  // Asks the ensemble's quorum whether this lease still holds the lock. Two requests; blocks.
  //   OK                it did at some moment during this call
  //   Aborted           it no longer does
  //   Unavailable       the ensemble did not answer
  //   DeadlineExceeded, Cancelled   not known in time; without a connection, the call waits for one
  //   InvalidArgument   the timeout
  //   FailedPrecondition   the lease is moved from; a forked child; Verify: the client's I/O thread
  absl::Status Verify(const WaitOptions& wait = {}) const;
  // Does not block. `done` runs once, on the client's executor; inline for a moved-from Lease and
  // in a forked child. ResourceExhausted, inline as well: there is no thread to run it. The Lease
  // may be moved or destroyed meanwhile.
  void VerifyAsync(WaitOptions wait, absl::AnyInvocable<void(absl::Status) &&> done) const;
  // For co_await: see awaitable.h.
  StatusAwaitable CoVerify(Duration timeout = absl::InfiniteDuration(),
                           std::stop_token cancel = {}) const;

  // Deletes the node and waits for the confirmation; blocks. The Lease is kReleased from then on,
  // whatever the status, unless it had been lost. Release may be called again to wait for the same
  // deletion: it returns the same statuses, and OK once the node is gone.
  //   OK                the node is gone, and the lease was not known to be lost before
  //   Aborted           the lease had been lost before (the message says why)
  //   DeadlineExceeded, Cancelled   not confirmed in time: the deletion goes on in the background,
  //                     until it is confirmed or the session has ended. DeadlineExceeded also if
  //                     the session expired first: then the node goes with it
  //   PermissionDenied  the ACL forbids it: the node goes with its session, which ends as soon as
  //                     no lease rests on it; what waits there queues anew
  //   InvalidArgument   the timeout: released, and not waited for
  //   FailedPrecondition   the lease is moved from, a forked child: nothing is done. Release on the
  //                     client's I/O thread: released, and not waited for
  absl::Status Release(const WaitOptions& wait = {}) &&;
  // Does not block: releases at once, and only the wait for the confirmation is asynchronous.
  // `done` runs as in VerifyAsync. ResourceExhausted: released, and not waited for.
  void ReleaseAsync(WaitOptions wait, absl::AnyInvocable<void(absl::Status) &&> done) &&;
  // For co_await, which begins the release: see awaitable.h.
  StatusAwaitable CoRelease(Duration timeout = absl::InfiniteDuration(),
                            std::stop_token cancel = {}) &&;

 private:
  friend struct internal::LeaseMaker;
  explicit Lease(std::shared_ptr<internal::LeaseState> state);

  std::shared_ptr<internal::LeaseState> state_;  // null when moved from
};

std::ostream& operator<<(std::ostream& out, Lease::State state);

}  // namespace zkrecipes

#endif  // ZKRECIPES_LEASE_H_

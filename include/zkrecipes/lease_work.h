// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LEASE_WORK_H_
#define ZKRECIPES_LEASE_WORK_H_

#include <stop_token>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"

#include "zkrecipes/duration.h"
#include "zkrecipes/lease.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// Work that runs while a lease is held: Lock::RunWhileHolding, ReadWriteLock::RunWhileHoldingShared
// and RunWhileHoldingExclusive, and LeaderElection::RunWhileLeading are one loop.
//
// Until `stop` is requested, each of them acquires, runs work(lease, end) on the calling thread,
// and releases the lease when work returns. `end` requests that work return: the lease has ended
// (lease.end_reason() says why), or `stop` was requested. The loop goes on after a lost lease,
// session or connection, and after another client deleted this contender's node. Work begins only
// while neither reason for `end` is known, and under a lease that can be believed, unless
// `wait_for_proof` is false (lease_options.h). `end` is a notice, which may come late: ask
// Lease::believed() before each act, as with every lease. Once work has returned, `end` stays as it
// is, and the lease is released: what work has begun must be over by then. With a `hold_at_most` or
// `alive_within` that is shorter than a thread may take to wake up, work may never begin.
//
// The calls block. They have no timeout, but the release takes a session timeout at most. Work may
// destroy the recipe and the options, and drop the client, which the call keeps. An exception that
// work throws leaves the call, and the lease is released in the background.
//   OK                  stopped, also if that was before the call, or `once` and work has run: the
//                       node is gone, or the place in the queue is given up in the background
//   DeadlineExceeded    stopped or `once`, but the last lease's release was not confirmed within
//                       the session timeout; the deletion goes on in the background. Not if the
//                       client has a connection and the release is two session timeouts past
//   Aborted             `once`, and the lease was lost before its release: before work could begin,
//                       while it ran, or behind it
//   InvalidArgument     the path, an option, the candidate or a pause, or `work` is null; nothing
//                       was asked for
//   PermissionDenied, Unauthenticated, FailedPrecondition, ResourceExhausted, Internal
//                       as for an acquire (lock.h) or a release. They end the loop, also after
//                       work has run, since retries would hide them: another try would not help
//                       until something is changed or freed. PermissionDenied also where the ACL
//                       forbids the deletion of the node; ResourceExhausted where such a path
//                       finds no session
using LeaseWork = absl::AnyInvocable<void(const Lease& lease, std::stop_token end)>;

// How the loop begins, ends and rests.
struct RunOptions {
  // The call returns after the first lease, instead of acquiring again.
  bool once = false;
  // The pause before the next acquire is a random time between half a limit and the whole limit, so
  // that work that returns at once does not spin. The limit is `first_pause`, and doubles up to
  // `longest_pause` while acquire and work together take less time than the limit.
  Duration first_pause = absl::Milliseconds(100);
  Duration longest_pause = absl::Seconds(10);
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_LEASE_WORK_H_

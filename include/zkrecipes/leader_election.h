// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LEADER_ELECTION_H_
#define ZKRECIPES_LEADER_ELECTION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "zkrecipes/awaitable.h"
#include "zkrecipes/client.h"
#include "zkrecipes/contenders.h"
#include "zkrecipes/leader.h"
#include "zkrecipes/lease.h"
#include "zkrecipes/try_result.h"
#include "zkrecipes/wait_options.h"

namespace zkrecipes {

// An election: of all candidates on one path the first in the queue leads, until it releases its lease
// or loses it; then the next. The lease is the leadership, its token the term: terms of a path grow.
// To resign is to release the lease.
//
// Thread-safe, and a value without state, as Lock is: not re-entrant, and making one does no I/O. The
// ACL permissions needed are Lock's (lock.h), and write for Proclaim. Curator's LeaderLatch (or a
// kazoo Election, in that dialect) stands in the same queue.
class LeaderElection {
 public:
  // REQUIRES: client is not null. A bad path or candidate is reported by the calls below.
  LeaderElection(std::shared_ptr<Client> client, std::string path, Candidate candidate = {});

  // These are Lock's Acquire, TryAcquire and AcquireAsync, with Lock's errors.
  //   InvalidArgument     also: the candidate's id or value
  absl::StatusOr<Lease> Campaign(const WaitOptions& wait = {});
  absl::StatusOr<TryResult> TryCampaign(const WaitOptions& wait = {});
  void CampaignAsync(WaitOptions wait, absl::AnyInvocable<void(absl::StatusOr<Lease>) &&> done);
  // For co_await: see awaitable.h.
  LeaseAwaitable CampaignAsync(absl::Duration timeout = absl::InfiniteDuration(),
                               std::stop_token cancel = {});

  // Changes the value in the leader's node; its id stays. Wakes no candidate. Blocks for two round
  // trips, and goes on over reconnections until the outcome is known. Of two overlapping calls either
  // may win; a call never undoes one that began after it had returned.
  //   Aborted             the lease is lost or released, or its node is gone; the value is not set
  //   InvalidArgument     the lease is not one of this path's leaders; the value is too long
  //   PermissionDenied    the node's ACL has no write permission for this client
  //   DeadlineExceeded, Cancelled   the value may have been set, or may yet be, unless another one
  //                       is proclaimed
  //   FailedPrecondition  the client is closed
  absl::Status Proclaim(const Lease& lease, const std::string& value, const WaitOptions& wait = {});

  // nullopt: the queue is empty, or the path does not exist. Blocks for two round trips, and asks again
  // when the connection is lost. A snapshot; errors as ListContenders.
  absl::StatusOr<std::optional<Leader>> CurrentLeader(const WaitOptions& wait = {});

  // The queue, in order: owner.id is the candidate's. As ListContenders.
  absl::StatusOr<std::vector<ContenderInfo>> Candidates(const WaitOptions& wait = {});

  // Reports the leader: now, and after each change to another leader, another value, or no leader
  // (nullopt). On the client's executor, in order, never overlapping. The latest state is always
  // reported, earlier ones may be skipped, and none is reported twice in a row. Lost connections and
  // sessions are not reported; what changed meanwhile is, once it is known. The news is what the
  // connected server knows, which may be a moment behind. While there is a leader, only its node is
  // watched.
  // An error is the last call: PermissionDenied (the path or the leader's node may not be read),
  // InvalidArgument, ResourceExhausted (too many watches in this client), Unauthenticated, or
  // FailedPrecondition: the client is closed. Does not block; does not keep the client alive.
  Subscription Observe(absl::AnyInvocable<void(absl::StatusOr<std::optional<Leader>>)> callback);

  // Campaigns, runs work(lease) in this thread while leading, releases when it returns, campaigns
  // again; until `stop`. `work` should return when lease.lost() or `stop` asks for it. After a lost
  // lease, session or connection, and after another client deleted the own node, it campaigns again.
  // Before each new campaign there is a pause, so that work that returns at once does not spin:
  // between half of a limit and all of it. The limit is 100 ms, and doubles up to 10 s while campaign
  // and work together take less time than it.
  //   OK                  stopped: the lease is released; a place in the queue is given up in the
  //                       background
  //   InvalidArgument, PermissionDenied, Unauthenticated, FailedPrecondition, ResourceExhausted,
  //   Internal            as Campaign has them: another campaign would not help
  absl::Status RunWhileLeading(std::stop_token stop, absl::AnyInvocable<void(const Lease&)> work);

  const std::string& path() const { return path_; }

 private:
  std::shared_ptr<Client> client_;
  std::string path_;
  Candidate candidate_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_LEADER_ELECTION_H_

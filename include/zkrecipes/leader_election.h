// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LEADER_ELECTION_H_
#define ZKRECIPES_LEADER_ELECTION_H_

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "zkrecipes/acquire_options.h"
#include "zkrecipes/awaitable.h"
#include "zkrecipes/client.h"
#include "zkrecipes/contenders.h"
#include "zkrecipes/duration.h"
#include "zkrecipes/leader.h"
#include "zkrecipes/lease.h"
#include "zkrecipes/lease_work.h"
#include "zkrecipes/wait_options.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// Options of the candidates of one LeaderElection.
struct LeaderElectionOptions {
  NodeMarker marker = NodeMarker::kLatch;
  Candidate candidate = {};
  AcquireOptions acquire = {};
};

// An election: the first candidate in a path's queue leads until it releases or loses its lease;
// then the next one leads. The lease is the leadership and its token is the term: terms of a path
// increase. To resign, release the lease.
//
// Thread-safe and stateless, like Lock: not re-entrant, and the constructor does no I/O. Needs the
// ACL permissions that Lock needs (lock.h), and write for Proclaim. Curator's LeaderLatch (with
// NodeMarker::kLock, its LeaderSelector; in the kazoo dialect, a kazoo Election) joins the same
// queue.
class LeaderElection {
 public:
  // REQUIRES: client is not null. An invalid path or candidate is reported by the calls below.
  LeaderElection(std::shared_ptr<Client> client, std::string path, Candidate candidate = {});
  LeaderElection(std::shared_ptr<Client> client, std::string path,
                 const LeaderElectionOptions& options);

  // Campaigns are Lock's acquires, under the names of an election. Errors: those of Lock, with
  // InvalidArgument also for the candidate's id or value.
  absl::StatusOr<Lease> Campaign(const WaitOptions& wait = {}) const;
  // AlreadyExists (IsBusy) if another candidate is in the way.
  absl::StatusOr<Lease> TryCampaign(const WaitOptions& wait = {}) const;
  void CampaignAsync(WaitOptions wait,
                     absl::AnyInvocable<void(absl::StatusOr<Lease>) &&> done) const;
  LeaseAwaitable CoCampaign(Duration timeout = absl::InfiniteDuration(),
                            std::stop_token cancel = {}) const;

  // Changes the value in the leader's node; the id stays. Wakes no candidate. Blocks for one round
  // trip, and retries over reconnections until the outcome is known. Calls take turns: the later
  // one wins. A call that has returned never undoes a later one.
  //   Aborted             the lease is lost or released, or its node is gone; the value is not set
  //   InvalidArgument     the lease is not a leader's lease of this path and client; the path or
  //                       the timeout; the value is too long
  //   PermissionDenied    the node's ACL has no write permission for this client
  //   ResourceExhausted   a quota, or the server throttled the request; the value is not set
  //   DeadlineExceeded, Unavailable, Cancelled   (as for Lock) the value may have been set, or may
  //                       yet be, unless another one is proclaimed
  //   FailedPrecondition  the client is closed, or belongs to the parent process; this is its I/O
  //                       thread
  //   Unauthenticated     the server refused the client's credentials
  absl::Status Proclaim(const Lease& lease, const std::string& value,
                        const WaitOptions& wait = {}) const;
  // Does not block; `done` runs once, on the client's executor. The lease may be moved or destroyed
  // meanwhile.
  void ProclaimAsync(const Lease& lease, std::string value, WaitOptions wait,
                     absl::AnyInvocable<void(absl::Status) &&> done) const;
  // For co_await: see awaitable.h.
  StatusAwaitable CoProclaim(const Lease& lease, std::string value,
                             Duration timeout = absl::InfiniteDuration(),
                             std::stop_token cancel = {}) const;

  // The leader, or nullopt if the queue is empty or the path does not exist. A snapshot. Blocks for
  // two round trips, and retries when the connection is lost. Errors: those of ListContenders.
  absl::StatusOr<std::optional<Leader>> CurrentLeader(const WaitOptions& wait = {}) const;

  // The queue, in order; owner.id is the candidate's id. Errors: those of ListContenders.
  absl::StatusOr<std::vector<ContenderInfo>> Candidates(const WaitOptions& wait = {}) const;

  // Reports the current leader, and every change: to another leader, another value, or no leader
  // (nullopt). Calls run on the client's executor, in order, and never overlap. The latest state is
  // always reported; earlier ones may be skipped, and none is reported twice in a row. Lost
  // connections and sessions are not reported; changes made meanwhile are, once the client is
  // connected again. The connected server may lag a moment. While there is a leader, only its node
  // is watched.
  // An error is the last call: PermissionDenied (the path or the leader's node may not be read),
  // InvalidArgument, ResourceExhausted (too many watches in this client), Unauthenticated, or
  // FailedPrecondition (the client is closed). Does not block; does not keep the client alive.
  Subscription Observe(
      absl::AnyInvocable<void(absl::StatusOr<std::optional<Leader>>)> callback) const;

  // In a loop until `stop`: campaigns, and runs work while leading. lease_work.h has the contract
  // and the errors.
  absl::Status RunWhileLeading(std::stop_token stop, LeaseWork work,
                               const RunOptions& options = {}) const;

  const std::string& path() const;

 private:
  std::shared_ptr<Client> client_;
  LeaderElectionOptions options_;
  std::shared_ptr<const internal::PathQueue> queue_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_LEADER_ELECTION_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_ACQUIRE_MEMBERSHIP_STATE_H_
#define ZKRECIPES_LIB_QUEUE_ACQUIRE_MEMBERSHIP_STATE_H_

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/status.h"

#include "lib/base/mutex.h"
#include "lib/queue/acquire/acquisition.h"
#include "lib/queue/acquire/work_loop.h"
#include "lib/queue/lease/lease_state.h"
#include "lib/queue/machine/candidacy.h"
#include "zkrecipes/lease.h"

namespace zkrecipes::internal {

// A membership: a lease, and the next one when that has ended, until its user leaves or an acquire
// is refused for good. Each of these leases is a spell. Thread-safe; does not block.
class MembershipState : public LeaseFollower, public std::enable_shared_from_this<MembershipState> {
 public:
  // `candidacy`: of each spell, the first of which is granted.
  static std::shared_ptr<MembershipState> Of(queue::acquire::Queue queue,
                                             queue::machine::Candidacy candidacy, Lease first);
  MembershipState(queue::acquire::Queue queue, queue::machine::Candidacy candidacy);

  const ClientCore& core() const { return *queue_->core; }
  const std::string& id() const { return id_; }
  // The latest; it may be over.
  std::shared_ptr<LeaseState> spell();
  // nullopt while it is a member, or joins again. Then OK once its user has left, otherwise the
  // refusal that ended it.
  std::optional<absl::Status> end();
  // No spell follows. Returns the latest, which the caller is to release.
  std::shared_ptr<LeaseState> Leave();

  void OnLeaseEnded() override;

 private:
  void Take(Lease lease);
  void OnSpellEnded();
  void RestFor(absl::Duration pause);
  void JoinAgain();
  void OnAnswer(queue::acquire::Answer answer);
  void EndWith(absl::Status why);

  const queue::acquire::Queue queue_;
  const queue::machine::Candidacy candidacy_;
  const std::string id_;
  std::stop_source leaves_;  // cancels the acquire under way

  queue::acquire::TurnPauses pauses_;  // on the reactor only

  base::Mutex mutex_;
  std::shared_ptr<LeaseState> spell_ ABSL_GUARDED_BY(mutex_);
  bool left_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_QUEUE_ACQUIRE_MEMBERSHIP_STATE_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_LEASE_STATE_H_
#define ZKRECIPES_LIB_QUEUE_LEASE_STATE_H_

#include <memory>
#include <stop_token>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"

#include "lib/base/mutex.h"
#include "lib/base/one_shot.h"
#include "lib/queue/contender.h"
#include "lib/session/client_core.h"
#include "lib/session/session_life.h"
#include "zkrecipes/lease.h"

namespace zkrecipes::internal {

// What a Lease shows, shared with the contender that won it. Thread-safe.
class LeaseState {
 public:
  using ReleaseDone = std::shared_ptr<base::OneShot<absl::Status>>;
  // Makes the contender leave; `done` (or null) hears when its node is gone.
  using Leave = absl::AnyInvocable<void(ReleaseDone done)>;

  LeaseState(std::shared_ptr<ClientCore> core, std::shared_ptr<session::SessionLife> life,
             Sequencer sequencer, Leave leave);
  LeaseState(const LeaseState&) = delete;
  LeaseState& operator=(const LeaseState&) = delete;

  Lease::State state();
  absl::Duration remaining();
  std::stop_token lost() const { return lost_.get_token(); }
  const Sequencer& sequencer() const { return sequencer_; }

  absl::Status Release(const WaitOptions& wait);
  // The Lease is destroyed.
  void Abandon();

  // From the contender, on the reactor.
  void OnLost(queue::LossReason why);
  void OnClosed();

  ClientCore& core() { return *core_; }

 private:
  enum class Phase { kGranted, kLost, kReleased };

  bool EnterReleased();
  Lease::State StateLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RequestStop();

  const std::shared_ptr<ClientCore> core_;
  const std::shared_ptr<session::SessionLife> life_;
  const Sequencer sequencer_;
  Leave leave_;  // called without the mutex, by whoever made the lease released
  std::stop_source lost_;

  base::Mutex mutex_;
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kGranted;
  bool stop_asked_ ABSL_GUARDED_BY(mutex_) = false;
  queue::LossReason why_ ABSL_GUARDED_BY(mutex_) = queue::LossReason::kLapsed;
};

struct LeaseMaker {
  static Lease Make(std::shared_ptr<LeaseState> state) { return Lease(std::move(state)); }
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_QUEUE_LEASE_STATE_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_LEASE_STATE_H_
#define ZKRECIPES_LIB_QUEUE_LEASE_STATE_H_

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/status.h"

#include "lib/base/mutex.h"
#include "lib/base/one_shot.h"
#include "lib/queue/machine/contender.h"
#include "lib/session/client_core.h"
#include "lib/session/session_validity.h"
#include "zkrecipes/lease.h"

namespace zkrecipes::internal {

// The contender that won a lease. Thread-safe.
class LeaseHolder {
 public:
  using Done = std::shared_ptr<base::OneShot<absl::Status>>;
  virtual ~LeaseHolder() = default;
  // `done` (or null) hears when its node is gone.
  virtual void Leave(Done done) = 0;
  // `done` hears what the ensemble says: see Lease::Verify.
  virtual void Verify(Done done) = 0;
};

// The node that won, and what it stands for.
struct Grant {
  Sequencer sequencer;
  int64_t czxid = 0;  // the node's: the token, but for a downgrade
  zk::SessionId session = 0;
};

// What a Lease shows, shared with the contender that won it. Thread-safe.
class LeaseState {
 public:
  // `holder`: gone once its node is. `strict`: how long after its last confirmed write a strict
  // holder is believed, at most; null: no strict one.
  LeaseState(std::shared_ptr<ClientCore> core, std::shared_ptr<session::SessionValidity> validity,
             Grant grant, std::weak_ptr<LeaseHolder> holder,
             std::optional<absl::Duration> strict = std::nullopt);
  LeaseState(const LeaseState&) = delete;
  LeaseState& operator=(const LeaseState&) = delete;

  Lease::State state();
  // Until when it is believed unless more is proven; the past while unproven and once it is over.
  base::BootTime deadline();
  absl::Duration remaining();
  std::stop_token lost() const { return lost_.get_token(); }
  const Sequencer& sequencer() const { return grant_.sequencer; }
  int64_t node_czxid() const { return grant_.czxid; }
  zk::SessionId session() const { return grant_.session; }

  // OK, or Aborted with the reason why `operation` cannot be: it is lost or released.
  absl::Status CheckAlive(const char* operation);
  absl::Status Verify(const WaitOptions& wait);
  absl::Status Release(const WaitOptions& wait);
  // The Lease is destroyed.
  void Abandon();

  // From the contender, on the reactor.
  void OnLost(queue::LossReason why);
  Lease::State OnClosed();  // what it was before

  ClientCore& core() { return *core_; }

 private:
  enum class Phase { kGranted, kLost, kReleased };

  Lease::State EnterReleased();  // what it was before
  absl::Status WhyLost(const char* operation);
  absl::Status Await(const LeaseHolder::Done& done, base::BootTime deadline,
                     const std::stop_token& cancel, const std::string& late);
  void Leave(const LeaseHolder::Done& done);
  Lease::State StateLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RequestStop();

  const std::shared_ptr<ClientCore> core_;
  const std::shared_ptr<session::SessionValidity> validity_;
  const Grant grant_;
  const std::weak_ptr<LeaseHolder> holder_;
  const std::optional<absl::Duration> strict_;
  std::stop_source lost_;

  base::Mutex mutex_;
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kGranted;
  bool stop_asked_ ABSL_GUARDED_BY(mutex_) = false;
  queue::LossReason why_ ABSL_GUARDED_BY(mutex_) = queue::LossReason::kLapsed;
};

struct LeaseMaker {
  static Lease Make(std::shared_ptr<LeaseState> state) { return Lease(std::move(state)); }
  // Null: moved from.
  static LeaseState* StateOf(const Lease& lease) { return lease.state_.get(); }
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_QUEUE_LEASE_STATE_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_LEASE_LEASE_STATE_H_
#define ZKRECIPES_LIB_QUEUE_LEASE_LEASE_STATE_H_

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"

#include "lib/base/mutex.h"
#include "lib/queue/machine/candidacy.h"
#include "lib/queue/machine/contender.h"
#include "lib/queue/machine/own_node_write.h"
#include "lib/session/client/client_core.h"
#include "lib/session/reach.h"
#include "lib/session/session_validity.h"
#include "zkrecipes/lease.h"

namespace zkrecipes::queue::own_node {
class OwnNodeTurns;
}  // namespace zkrecipes::queue::own_node

namespace zkrecipes::internal {

// The contender that won a lease. Thread-safe.
class LeaseHolder {
 public:
  // Called once, on any thread, perhaps inline; must not block. Null: the caller does not wait.
  using Waiter = absl::AnyInvocable<void(absl::Status) &&>;
  virtual ~LeaseHolder() = default;
  // `waiter` (may be null) is told once the node is gone. May be called again, to wait on.
  virtual void Leave(Waiter waiter) = 0;
  // `waiter` is told the ensemble's answer: see Lease::Verify.
  virtual void Verify(Waiter waiter) = 0;
};

// What has to know at once that a lease has ended: an upgrade or a downgrade of it, the writes of
// its node, a membership, a CachedLock's tenure.
class LeaseFollower {
 public:
  virtual ~LeaseFollower() = default;
  // The lease has ended. On any thread, perhaps inline; must not block.
  virtual void OnLeaseEnded() = 0;
};

const char* Describe(LeaseEnd end);

// What the user demands of a lease, beside what its session proves: see AcquireOptions.
struct LeaseTerms {
  bool lapses = true;  // it ends with the period of its session's validity: EndsAt::kDeadline
  std::optional<absl::Duration> delay_lifetime = std::nullopt;  // lock-delay mode
  absl::Duration alive_within = absl::InfiniteDuration();
  absl::Duration hold_at_most = absl::InfiniteDuration();
};

// The state that a Lease shows, shared with the contender that won it. Thread-safe.
//
// A lease ends once, for the first reason that holds, and keeps that reason. Some reasons are a
// matter of time: every call finds them first, by the clock, whether or not a timer has run (Look).
// All others come through End.
class LeaseState {
 public:
  // It is granted in the current period of `validity`. `holder`: destroyed once its node is gone.
  // `reach`: of its session.
  LeaseState(std::shared_ptr<ClientCore> core, std::shared_ptr<session::SessionValidity> validity,
             queue::machine::Grant grant, std::weak_ptr<LeaseHolder> holder,
             const LeaseTerms& terms, std::shared_ptr<const session::Reach> reach);
  LeaseState(const LeaseState&) = delete;
  LeaseState& operator=(const LeaseState&) = delete;

  Lease::State state();
  // Until when it is believed unless more is proven; the past while it is unproven, and once it is
  // lost or released.
  base::BootTime deadline();
  absl::Duration remaining();
  std::stop_token ended();
  std::optional<LeaseEnd> end_reason();
  // Whether it was released in time: then it is not lost, whatever comes before its node has gone.
  bool released();
  bool StillAlive();
  // When its own terms or its delay lifetime end it, unless they are prolonged before that.
  base::BootTime EndTime();
  const Sequencer& sequencer() const { return sequencer_; }
  FencingPass pass() const { return {sequencer_.token, sequencer_.mode, grant_.epoch}; }
  const LeaseTerms& terms() const { return terms_; }
  const session::Reach& reach() const { return *reach_; }
  int64_t node_czxid() const { return grant_.czxid; }
  zk::SessionId session() const { return grant_.session; }
  base::BootTime granted() const { return granted_; }

  // Whether its user has been notified of its end, or will be.
  bool announced();

  // OK, or Aborted if the lease is lost or released; the message says why `operation` failed.
  absl::Status CheckAlive(const char* operation);
  // Asks whether the node is still there.
  void Verify(LeaseHolder::Waiter waiter);
  // Aborted if the lease is lost; else it is released from now on, and Leave is to follow. A lease
  // that was released before may be released again, to wait for its node to go.
  absl::Status BeginRelease();
  void Leave(LeaseHolder::Waiter waiter);
  // Its contender has finished: the answer to every release from now on.
  void SetLeft(const absl::Status& status);
  absl::Status left();
  // The Lease is destroyed: releases without waiting.
  void Abandon();

  // Ends it for `why`, and announces the end. Returns the end of before: then this one changes
  // nothing.
  std::optional<LeaseEnd> End(LeaseEnd why);
  // Announces its end if it has ended: by a deadline, or with its session.
  void AnnounceIfEnded();
  // `follower` is notified of the end; at once if that has been announced.
  void AddFollower(const std::shared_ptr<LeaseFollower>& follower);
  // A write has found the node gone. The contender verifies that, too, which ends it.
  void OnNodeGone();

  ClientCore& core() { return *core_; }
  // Of the writes of its node; few leases write.
  queue::own_node::OwnNodeTurns& turns();
  // For one of them: the data that is there, with a new mark.
  queue::machine::OwnNodeWrite::Data NewMark() const;

 private:
  // The lease at one moment. No call reads the end but by a Look, which settles it first.
  struct Seen {
    base::BootTime now;
    Lease::State state;
    std::optional<LeaseEnd> end;
  };
  Seen Look() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<LeaseEnd> EndOfTerms(base::BootTime now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WhyLost(const char* operation);
  void Announce();

  const std::shared_ptr<ClientCore> core_;
  const std::shared_ptr<session::SessionValidity> validity_;
  queue::machine::Grant grant_;  // but for its node, which the sequencer has; does not change
  const Sequencer sequencer_;    // the grant, as the user sees it
  const std::weak_ptr<LeaseHolder> holder_;
  const LeaseTerms terms_;
  const std::shared_ptr<const session::Reach> reach_;
  const session::SessionValidity::Basis basis_;
  const base::BootTime granted_;

  base::Mutex mutex_;
  std::optional<LeaseEnd> end_ ABSL_GUARDED_BY(mutex_);  // the first
  bool announced_ ABSL_GUARDED_BY(mutex_) = false;
  // Without a state until ended() was called: there are no callbacks.
  std::stop_source ended_ ABSL_GUARDED_BY(mutex_){std::nostopstate};
  base::BootTime alive_until_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<queue::own_node::OwnNodeTurns> turns_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<LeaseFollower>> followers_ ABSL_GUARDED_BY(mutex_);
  absl::Status left_ ABSL_GUARDED_BY(mutex_);  // of the contender that has finished
};

struct LeaseMaker {
  static Lease Make(std::shared_ptr<LeaseState> state) { return Lease(std::move(state)); }
  // One that was moved from.
  static const Lease& None() {
    static const Lease* const kNone = new Lease(Make(nullptr));
    return *kNone;
  }
  // Null: moved from.
  static const std::shared_ptr<LeaseState>& StateOf(const Lease& lease) { return lease.state_; }
  // The lease is moved from.
  static std::shared_ptr<LeaseState> Take(Lease lease) { return std::move(lease.state_); }
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_QUEUE_LEASE_LEASE_STATE_H_

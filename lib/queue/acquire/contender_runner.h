// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_ACQUIRE_CONTENDER_RUNNER_H_
#define ZKRECIPES_LIB_QUEUE_ACQUIRE_CONTENDER_RUNNER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"

#include "lib/queue/acquire/acquisition.h"
#include "lib/queue/acquire/room.h"
#include "lib/queue/acquire/wait.h"
#include "lib/queue/lease/held_lease.h"
#include "lib/queue/lease/notifier.h"
#include "lib/queue/machine/contender.h"
#include "lib/session/client/client_core.h"
#include "lib/session/retry_pauses.h"
#include "lib/session/session.h"

namespace zkrecipes::queue::acquire {

// Drives one Contender: passes it the session's events and carries out its actions. Its wait and
// its lease are parts with names of their own. Everything on the reactor, except Leave and Verify.
// Keeps itself alive until its contender has finished.
class ContenderRunner : public session::ProofListener,
                        public internal::LeaseHolder,
                        public std::enable_shared_from_this<ContenderRunner> {
 public:
  ContenderRunner(std::shared_ptr<Acquisition> acquisition, machine::Candidacy&& candidacy);

  // `session`: null if the client is closed.
  void Start(session::Session* session);

  // Gives up the wait, or releases. `waiter` (may be null) is called once the node is gone.
  // Thread-safe.
  void Leave(Waiter waiter) override;
  void Verify(Waiter waiter) override;
  // The lease that it follows has ended. Thread-safe.
  void OnFollowedEnded();

  void OnConnected() override;
  void OnDisconnected() override;
  void OnExpired() override;
  void OnFailed(const absl::Status& why) override;
  void OnClosing() override;

  session::machine::Need need() const override;
  void OnProven() override;
  void OnLapsed() override;
  void OnValidityEnded() override;
  void OnEpochUnreadable(const absl::Status& why) override;
  std::string NodeToCheck() const override { return wait_.NodeToCheck(); }
  void OnNodeChecked(bool there) override;
  void OnSuspicionCheck() override;

 private:
  void On(machine::Event&& event);
  void CarryOut(machine::Actions&& actions);
  void Act(machine::action::Send&& send);
  void Act(const machine::action::Unwatch& unwatch);
  void Act(const machine::action::StartRetryTimer&);
  void Act(const machine::action::StartOwnWatchTimer&);
  void Act(const machine::action::StartCheckTimer& start);
  void Act(machine::action::StartDelayTimer&& start);
  void Act(machine::Grant grant);
  void Act(const machine::action::LeaseLost& lost);
  void Act(const machine::action::LeaveRefused& refused);
  void Act(const machine::action::Finished& finished);

  void GiveUp(const absl::Status& why);
  bool NeverProven() const;
  bool Proven() const;
  void OnReply(machine::OpId op, zk::Reply&& reply);
  void SendWatch(machine::OpId op, zk::Watch watch);
  session::machine::WatcherId& WatcherOf(const std::string& path);
  zk::Reactor::TimerId OnAfter(absl::Duration pause, machine::Event event);
  zk::Reactor::TimerId OnAround(absl::Duration pause, machine::Event event);
  internal::LeaseTerms Terms() const;
  absl::Status WithoutEpoch(const absl::Status& why) const;
  void AnswerUser();
  void AnswerReleases(const absl::Status& status);
  const machine::Candidacy& candidacy() const { return contender_.candidacy(); }

  internal::ClientCore* const core_;  // the acquisition's
  const std::shared_ptr<Acquisition> acquisition_;
  machine::Contender contender_;
  Wait wait_;
  std::optional<lease::HeldLease> held_;       // once granted
  std::unique_ptr<lease::Notifier> notifier_;  // if there is a listener

  session::Session* session_ = nullptr;  // null before Start, and once finished
  std::shared_ptr<ContenderRunner> self_;
  Room room_;
  session::machine::WatcherId own_watch_ = 0;          // the latest on its own node
  session::machine::WatcherId predecessor_watch_ = 0;  // ... on another
  // A semaphore's contender has, in place of that one, those on the nodes in front.
  std::unique_ptr<std::map<std::string, session::machine::WatcherId>> front_watches_;
  zk::Reactor::TimerId own_watch_timer_ = 0;
  zk::Reactor::TimerId check_timer_ = 0;
  zk::Reactor::TimerId delay_timer_ = 0;
  session::RetryPauses retry_pauses_;
  absl::InlinedVector<Waiter, 1> releases_;
};

}  // namespace zkrecipes::queue::acquire

#endif  // ZKRECIPES_LIB_QUEUE_ACQUIRE_CONTENDER_RUNNER_H_

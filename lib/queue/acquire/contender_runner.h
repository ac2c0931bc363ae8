// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_ACQUIRE_CONTENDER_RUNNER_H_
#define ZKRECIPES_LIB_QUEUE_ACQUIRE_CONTENDER_RUNNER_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"

#include "lib/queue/acquire/acquisition.h"
#include "lib/queue/lease/lease_state.h"
#include "lib/queue/lease/telling.h"
#include "lib/queue/lease/verification.h"
#include "lib/queue/listing/rivals.h"
#include "lib/queue/machine/contender.h"
#include "lib/queue/machine/nearness.h"
#include "lib/session/client/client_core.h"
#include "lib/session/path_budget.h"
#include "lib/session/retry_pauses.h"
#include "lib/session/session.h"

namespace zkrecipes::queue::acquire {

// Drives one Contender: passes it the session's events and carries out its actions. Everything on
// the reactor, except Leave and Verify. Keeps itself alive until its contender has finished.
class ContenderRunner : public session::ProofListener,
                        public internal::LeaseHolder,
                        public std::enable_shared_from_this<ContenderRunner> {
 public:
  ContenderRunner(std::shared_ptr<internal::ClientCore> core,
                  std::shared_ptr<Acquisition> acquisition, machine::Candidacy&& candidacy);

  // `session`: null if the client is closed.
  void Start(session::Session* session);

  // Gives up the wait, or releases. `waiter` (may be null) is told once the node is gone.
  // Thread-safe.
  void Leave(Waiter waiter) override;
  void Verify(Waiter waiter) override;

  bool NeedsProof() const override;
  bool HeldALease() const override { return held_; }
  absl::Duration DelayLifetime() const override;
  std::string NodeToCheck() const override;
  void OnNodeChecked(bool there) override;
  void OnValidityEnded() override;
  void OnConnected() override;
  void OnDisconnected() override;
  void OnExpired() override;
  void OnLapsed() override;
  void OnProven() override;
  void OnSuspicionCheck() override;
  void OnEpochUnreadable(const absl::Status& why) override;
  void OnFailed(const absl::Status& why) override;
  void OnClosing() override;

 private:
  bool FindRoom();
  bool Proven() const;
  void OnReply(machine::OpId op, zk::Reply&& reply);
  bool WaitsFarBack() const;
  internal::LeaseTerms Terms() const;
  void UpdateNeed();
  void CheckEnd();
  void StartTimeout();
  void StartLastTimer();
  void Look();
  void AnswerBusy();
  void AskVerdict();
  void OnVerdict(lease::Verdict verdict);
  absl::Status VerifyStatus(absl::StatusCode code, const char* why) const;
  absl::Status LeaseIsOver() const;
  absl::Status WithoutEpoch(const absl::Status& why) const;
  void On(machine::Event&& event);
  void Act(machine::action::Send&& send);
  void Act(const machine::action::Unwatch& unwatch);
  void Act(const machine::action::StartRetryTimer&);
  void Act(const machine::action::StartOwnWatchTimer&);
  void Act(const machine::action::StartLookTimer& start);
  void Act(const machine::action::StartDelayTimer& start);
  void Act(machine::Grant grant);
  void Act(const machine::action::LeaseLost& lost);
  void Act(const machine::action::LeaveRefused& refused);
  void Act(const machine::action::Finished& finished);
  const machine::Candidacy& candidacy() const { return contender_.candidacy(); }
  session::machine::WatcherId& WatcherOf(const std::string& path);
  listing::Rivals RivalsIn(const zk::Names& children) const;
  void SendWatch(machine::OpId op, std::string path);
  template <typename E>
  zk::Reactor::TimerId OnAfter(absl::Duration pause, E event);
  template <typename E>
  zk::Reactor::TimerId OnAround(absl::Duration pause, E event);
  void CancelTimeout();
  template <typename Waiters>
  static void Answer(Waiters& waiting, const absl::Status& status) {
    for (Waiter& waiter : std::exchange(waiting, Waiters())) std::move(waiter)(status);
  }

  const std::shared_ptr<internal::ClientCore> core_;
  const std::shared_ptr<Acquisition> acquisition_;
  machine::Contender contender_;
  machine::Nearness nearness_;  // of its turn, while it waits
  bool held_ = false;           // ... a lease, now or before

  session::Session* session_ = nullptr;  // null before Start, and once finished
  std::shared_ptr<ContenderRunner> self_;
  std::shared_ptr<internal::LeaseState> lease_;  // once granted
  std::optional<lease::Telling> telling_;        // if there is a listener
  session::PathBudget::Reservation node_bytes_;
  session::PathBudget::Reservation own_watch_bytes_;
  session::PathBudget::Reservation blocker_watch_bytes_;
  session::machine::WatcherId own_watch_ = 0;      // the latest on its own node
  session::machine::WatcherId blocker_watch_ = 0;  // ... on another
  zk::Reactor::TimerId timeout_ = 0;               // until it looks, then until the deadline
  zk::Reactor::TimerId end_timer_ = 0;             // of the lease
  zk::Reactor::TimerId own_watch_timer_ = 0;
  zk::Reactor::TimerId look_timer_ = 0;
  std::unique_ptr<listing::Rivals> rivals_;  // of a try: as listed last
  session::RetryPauses retry_pauses_;
  absl::InlinedVector<Waiter, 1> releases_;
  std::vector<Waiter> verifications_;  // wait for the next question; few ask
  std::vector<Waiter> verifying_;      // wait for the answer to the one on its way
};

}  // namespace zkrecipes::queue::acquire

#endif  // ZKRECIPES_LIB_QUEUE_ACQUIRE_CONTENDER_RUNNER_H_

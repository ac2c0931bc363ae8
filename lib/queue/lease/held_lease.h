// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_LEASE_HELD_LEASE_H_
#define ZKRECIPES_LIB_QUEUE_LEASE_HELD_LEASE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "lib/queue/lease/lease_state.h"
#include "lib/session/session.h"
#include "lib/zk/seam/reactor.h"

namespace zkrecipes::queue::lease {

// A lease from its grant until its contender has finished: the timer of its end, and the
// verifications that its user asks for. A part of its contender's runner; on the reactor.
class HeldLease {
 public:
  using Waiter = internal::LeaseHolder::Waiter;

  // Takes what it finds out for the contender, which may finish by that: Lapsed, when a deadline of
  // its own has ended it; NodeGone, behind a committed barrier.
  using Tell = std::function<void(machine::Event&&)>;

  // `path`: for messages, as the user gave it; it must live as long as this. `owner` keeps this
  // alive while answers are under way. From here on the lease's own deadlines are watched.
  HeldLease(zk::Reactor& reactor, session::Session& session, const std::string& path,
            std::shared_ptr<internal::LeaseState> state, std::weak_ptr<void> owner, Tell tell);

  internal::LeaseState& state() const { return *state_; }
  // The user's. It releases the lease when it is destroyed. From here on the session is proven for
  // `holder`: no Lease leaves before it is, and before its deadlines are watched, since its user
  // may ask for its end, or release it, at once and on any thread.
  Lease ForUser(session::ProofListener* holder) const {
    session_.NeedChanged(holder);
    return internal::LeaseMaker::Make(state_);
  }

  // `waiter` is told what the ensemble answers to a question that is asked after this call.
  void Verify(Waiter waiter);
  void OnConnected() { Ask(); }
  // The contender has finished: answers whatever waits.
  void Finish();

 private:
  void WatchEnd();
  void OnEndTimer();
  void Ask();
  void OnRead(zk::SessionId asker, const std::optional<zk::Reply>& reply);
  void AnswerOver();
  void Answer(std::vector<Waiter>& waiters, absl::StatusCode code, const char* why);

  zk::Reactor& reactor_;
  session::Session& session_;
  const std::string& path_;
  const std::shared_ptr<internal::LeaseState> state_;
  const std::weak_ptr<void> owner_;
  const Tell tell_;
  zk::Reactor::TimerId end_timer_ = 0;
  std::vector<Waiter> waiting_;  // for the next question
  std::vector<Waiter> asking_;   // for the answer to the one that is on its way
  bool finished_ = false;
};

}  // namespace zkrecipes::queue::lease

#endif  // ZKRECIPES_LIB_QUEUE_LEASE_HELD_LEASE_H_

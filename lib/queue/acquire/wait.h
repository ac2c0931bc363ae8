// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_ACQUIRE_WAIT_H_
#define ZKRECIPES_LIB_QUEUE_ACQUIRE_WAIT_H_

#include <functional>
#include <memory>
#include <string>

#include "lib/queue/acquire/acquisition.h"
#include "lib/queue/listing/queue_listing.h"
#include "lib/queue/machine/contender.h"
#include "lib/session/client/client_core.h"
#include "lib/session/session.h"

namespace zkrecipes::queue::acquire {

// A contender's wait for its grant: the time limits, the contenders in front that its refusal
// names, and how near its turn is. A part of its ContenderRunner; on the reactor.
class Wait {
 public:
  // All must live as long as this.
  Wait(Acquisition& acquisition, const machine::Contender& contender)
      : acquisition_(acquisition), contender_(contender) {}

  // Starts the time limit. `owner` keeps this alive while timers and answers are under way.
  void Begin(session::Session* session, const std::shared_ptr<void>& owner);
  // It is granted or refused: no time limit any more.
  void End();

  // After each event of the contender; `before`: its state before that.
  void Update(machine::Contender::State before);
  // A listing that a try has asked for.
  void OnListed(const zk::Names& children) {
    rivals_ = std::make_unique<listing::Rivals>(RivalsIn(children));
  }
  // Answers a try that was busy, by the time limit: with the name of the holder if that can be
  // read. The contender has finished; only its user waits. `answered` is called once.
  void AnswerBusy(std::function<void()> answered);

  // Whether its turn is so far away that its session needs no proof yet.
  bool FarFromTurn() const;
  // See session::ProofListener.
  std::string NodeToCheck() const;
  void OnNodeChecked(bool there) { nearness_.OnChecked(there); }

 private:
  // Keeps the owner alive, and with it this.
  std::shared_ptr<Wait> Self() { return {owner_.lock(), this}; }
  internal::ClientCore& core() const;
  void StartLastTimer();
  void LimitProof(absl::Duration pause);
  void Stop(zk::Reactor::TimerId& timer);
  void AskWhoIsInFront();
  void OnRivals(const zk::Names& children);
  listing::Rivals RivalsIn(const zk::Names& children) const;
  const std::string& parent() const { return contender_.candidacy().parent; }

  Acquisition& acquisition_;
  const machine::Contender& contender_;
  session::Session* session_ = nullptr;
  std::weak_ptr<void> owner_;
  zk::Reactor::TimerId timer_ = 0;        // until it asks who is in front, then until the deadline
  zk::Reactor::TimerId proof_timer_ = 0;  // since it is first in the queue
  std::unique_ptr<listing::Rivals> rivals_;  // of a try: as listed last
  machine::Nearness nearness_;
};

}  // namespace zkrecipes::queue::acquire

#endif  // ZKRECIPES_LIB_QUEUE_ACQUIRE_WAIT_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_LEASE_NOTIFIER_H_
#define ZKRECIPES_LIB_QUEUE_LEASE_NOTIFIER_H_

#include <string>
#include <utility>
#include <vector>

#include "lib/queue/acquire/acquisition.h"
#include "lib/queue/acquire/listeners.h"
#include "lib/queue/lease/lease_state.h"
#include "lib/queue/machine/contender.h"
#include "lib/session/client/client_core.h"
#include "zkrecipes/event_listener.h"

namespace zkrecipes::queue::lease {

// Notifies listeners of the events of one acquire and of its lease: it compares the contender and
// the lease with what was notified last, after whatever may have changed them. On the reactor; the
// listeners are called there, or on the executor, in order. A part of its contender's runner, since
// one object more for each acquire took a third of the cost of all listening.
class Notifier {
 public:
  // REQUIRES: its queue has listeners. The core and the acquisition must live longer.
  Notifier(internal::ClientCore& core, acquire::Acquisition& acquisition);

  // After each event of the contender, few of which are one for listeners.
  void OnEvent(const machine::Contender& contender) {
    if (answered_) return;
    const bool had_node = std::exchange(has_node_, !contender.node().empty());
    if (had_node && !has_node_) NotifyPlaceLost();
    if (contender.state() == machine::Contender::State::kWatching)
      NotifyQueued(contender.in_front());
    OnMaybeRefused();
  }
  // `lease` must live until Ended. `acl`: of the nodes that the acquire makes; empty: the
  // client's.
  void Granted(internal::LeaseState& lease, const std::vector<zk::AclEntry>& acl);
  // If the acquire has been refused: once. A grant that is answered with a refusal, since it came
  // too late, is notified as one.
  void OnMaybeRefused() {
    if (!answered_ && acquisition_.settled()) NotifyRefused();
  }
  // Notifies of a lease that has become suspect, or is proven again; only after Granted.
  void CheckSuspicion() {
    if (lease_ != nullptr) NotifySuspicion();
  }
  // Nothing if there was no lease, or its end was notified before.
  void Ended();

 private:
  template <typename F>  // void(EventListener&, const Sequencer&)
  void NotifyOfLease(F notify);
  template <typename F>  // void(EventListener&, const std::string& path)
  void NotifyOfPath(F notify);
  void NotifyPlaceLost();
  void NotifyQueued(const machine::InFront& lower);
  void NotifyRefused();
  void NotifySuspicion();
  void CheckParent();
  absl::Duration held() const { return core_.Now() - lease_->granted(); }

  internal::ClientCore& core_;
  acquire::Acquisition& acquisition_;
  const acquire::Listeners listeners_;

  bool has_node_ = false;
  bool answered_ = false;  // and notified
  bool suspect_ = false;
  int waits_for_ = 0;
  std::string behind_;
  internal::LeaseState* lease_ = nullptr;  // until Ended
};

}  // namespace zkrecipes::queue::lease

#endif  // ZKRECIPES_LIB_QUEUE_LEASE_NOTIFIER_H_

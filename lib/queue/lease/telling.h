// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_LEASE_TELLING_H_
#define ZKRECIPES_LIB_QUEUE_LEASE_TELLING_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/queue/acquire/acquisition.h"
#include "lib/queue/lease/lease_state.h"
#include "lib/queue/machine/contender.h"
#include "lib/session/client/client_core.h"
#include "lib/session/subscriber.h"
#include "zkrecipes/event_listener.h"

namespace zkrecipes::queue::lease {

// Tells listeners what becomes of one acquire and of its lease. It looks at the contender and at
// the lease after whatever may have changed them, and tells what has. On the reactor; the listeners
// are called there, or on the executor, in order. A part of its contender, not an object of its
// own: to allocate one for each acquire took a third of what all listening costs.
class Telling {
 public:
  // REQUIRES: its queue has listeners. The core and the acquisition must live longer.
  Telling(internal::ClientCore& core, acquire::Acquisition& acquisition);

  // After each event of the contender, few of which change anything that is told.
  void Look(const machine::Contender& contender) {
    if (answered_) return;
    const bool had_node = std::exchange(has_node_, !contender.node().empty());
    if (had_node && !has_node_) TellOfPlaceLost();
    if (contender.state() == machine::Contender::State::kWatching)
      LookInFront(contender.in_front());
    LookAtRefusal();
  }
  // `lease` must live until the end is told. `acl`: of the nodes that the acquire makes; empty: the
  // client's.
  void Granted(internal::LeaseState& lease, const std::vector<zk::AclEntry>& acl);
  // If the acquire has been refused: once. A grant that is answered with a refusal, since it came
  // too late, is told as one.
  void LookAtRefusal() {
    if (!answered_ && acquisition_.settled()) TellOfRefusal();
  }
  // At the lease, of which nothing has been told if it was not Granted.
  void LookAtLease() {
    if (lease_ != nullptr) LookWhetherProven();
  }
  // Nothing if there was no lease, or its end has been told.
  void Ended();

 private:
  using News = std::function<void(EventListener&)>;
  using Later = session::Subscriber<News>;
  // `of`: what names the lease or the path. What is told later takes a copy of it, so as not to
  // keep the lease.
  template <typename F, typename Of>  // void(EventListener&, const Of&)
  static void Tell(const internal::PathQueue& queue, const std::shared_ptr<Later>& later, F news,
                   const Of& of);
  template <typename F>  // void(EventListener&, const Sequencer&)
  void TellOfLease(F news);
  template <typename F>  // void(EventListener&, const std::string& path)
  void TellOfPath(F news);
  void TellOfPlaceLost();
  void LookInFront(const machine::InFront& lower);
  void TellOfRefusal();
  void LookWhetherProven();
  void LookAtParent();
  absl::Duration held() const { return core_.Now() - lease_->granted(); }

  internal::ClientCore& core_;
  acquire::Acquisition& acquisition_;
  std::shared_ptr<Later> later_;  // null: all listeners hear at once

  bool has_node_ = false;
  bool answered_ = false;  // and told so
  bool suspect_ = false;
  int waits_for_ = 0;
  std::string behind_;
  internal::LeaseState* lease_ = nullptr;  // until its end is told
};

}  // namespace zkrecipes::queue::lease

#endif  // ZKRECIPES_LIB_QUEUE_LEASE_TELLING_H_

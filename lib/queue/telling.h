// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_TELLING_H_
#define ZKRECIPES_LIB_QUEUE_TELLING_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"

#include "lib/queue/acquisition.h"
#include "lib/queue/lease_state.h"
#include "lib/queue/machine/contender.h"
#include "lib/session/client_core.h"
#include "lib/session/subscriber.h"
#include "zkrecipes/event_listener.h"

namespace zkrecipes::internal {

// Tells listeners what becomes of one acquire and of its lease. It looks at the contender and at the
// lease after whatever may have changed them, and tells what has. On the reactor; the listeners are
// called there, or on the executor, in order.
class Telling {
 public:
  using Listeners = absl::InlinedVector<std::shared_ptr<EventListener>, 2>;

  // `listeners`: not empty.
  Telling(std::shared_ptr<ClientCore> core, std::shared_ptr<Acquisition> acquisition,
          const Listeners& listeners);

  void Look(const queue::Contender& contender);
  // `acl`: of the nodes that the acquire makes; empty: the client's.
  void Granted(std::shared_ptr<LeaseState> lease, const std::vector<zk::AclEntry>& acl);
  // If the acquire has been refused: once. A grant that is answered with a refusal, since it came too late, is
  // told as one.
  void LookAtRefusal();
  // At the lease, of which nothing has been told if it was not Granted.
  void LookAtLease();
  void HeldTooLong();
  // False if there was no lease, or its end has been told.
  bool Ended();

 private:
  using News = std::function<void(EventListener&)>;
  using Later = session::Subscriber<News>;
  struct Audience {
    // `of`: what names the lease or the path. What is told later takes a copy of it, so as not to keep the lease.
    template <typename F, typename Of>  // void(EventListener&, const Of&)
    void Tell(F news, const Of& of) const;

    Listeners at_once;
    std::shared_ptr<Later> later;  // null: there is no other listener
  };
  template <typename F>  // void(EventListener&, const Sequencer&)
  void TellOfLease(F news);
  template <typename F>  // void(EventListener&, const std::string& path)
  void TellOfPath(F news);
  void LookAtParent(const std::vector<zk::AclEntry>& acl);
  absl::Duration held() const { return core_->Now() - granted_; }

  const std::shared_ptr<ClientCore> core_;
  const std::shared_ptr<Acquisition> acquisition_;
  Audience audience_;
  const base::BootTime began_;

  bool has_node_ = false;
  bool answered_ = false;  // and told so
  size_t waits_for_ = 0;
  std::string behind_;
  std::shared_ptr<LeaseState> lease_;  // until its end is told
  base::BootTime granted_;
  bool suspect_ = false;
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_QUEUE_TELLING_H_

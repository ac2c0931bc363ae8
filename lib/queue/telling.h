// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_TELLING_H_
#define ZKRECIPES_LIB_QUEUE_TELLING_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/queue/lease_state.h"
#include "lib/queue/machine/contender.h"
#include "lib/session/client_core.h"
#include "lib/session/subscriber.h"
#include "zkrecipes/event_listener.h"

namespace zkrecipes::internal {

// Tells listeners what becomes of one acquire and of its lease. It looks at the contender and at the
// lease after whatever may have changed them, and tells what has. On the reactor; the listeners are
// called on the executor, in order.
class Telling {
 public:
  using Listeners = std::vector<std::shared_ptr<EventListener>>;

  // `listeners`: not empty. `acl`: of the nodes that the acquire makes.
  Telling(std::shared_ptr<ClientCore> core, std::string path, std::vector<zk::AclEntry> acl,
          Listeners listeners);

  void Look(const queue::Contender& contender);
  void Granted(std::shared_ptr<LeaseState> lease);
  void NotGranted(const absl::Status& why);
  // At the lease, of which nothing has been told if it was not Granted.
  void LookAtLease();
  void HeldTooLong();
  void Ended();

 private:
  using News = std::function<void(EventListener&)>;
  void Tell(News news) { subscriber_->Tell(std::move(news)); }
  void LookAtParent();
  absl::Duration held() const { return core_->Now() - granted_; }

  const std::shared_ptr<ClientCore> core_;
  const std::string path_;
  const std::vector<zk::AclEntry> acl_;
  const std::shared_ptr<session::Subscriber<News>> subscriber_;
  const base::BootTime began_;

  bool has_node_ = false;
  size_t waits_for_ = 0;
  std::string behind_;
  std::shared_ptr<LeaseState> lease_;  // until its end is told
  base::BootTime granted_;
  bool suspect_ = false;
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_QUEUE_TELLING_H_

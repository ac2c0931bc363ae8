// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_LISTING_CHILDREN_WATCH_H_
#define ZKRECIPES_LIB_QUEUE_LISTING_CHILDREN_WATCH_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "lib/session/client/client_core.h"
#include "lib/session/retry_pauses.h"
#include "lib/session/session.h"
#include "lib/zk/seam/types.h"

namespace zkrecipes::queue::listing {

// Follows the children of a node, with one watch: on them or, without the node, on its existence.
// Each listing is one request, which sets the watch, so the latest state is never missed.
// Everything on the reactor. Keeps itself alive until Stop, an error or the end of the client.
class ChildrenWatch : public session::SessionListener,
                      public std::enable_shared_from_this<ChildrenWatch> {
 public:
  // The names, none without the node; or why there will be no more: then it has stopped. Never
  // called inside Stop, nor after it; inside Begin only once the client is closed.
  using Seen = absl::AnyInvocable<void(absl::StatusOr<zk::Names>)>;

  // At each change, before it is looked at. False: it is not looked at, and Stop is to come.
  using Changed = absl::AnyInvocable<bool()>;

  // `path`: as the user gave it. A change is looked at within `gather`, so that what happens
  // together is seen together. It follows in the session `beside` or, by default and if that has
  // no room for its watch, in whichever has.
  static std::shared_ptr<ChildrenWatch> Begin(std::shared_ptr<internal::ClientCore> core,
                                              const std::string& path, absl::Duration gather,
                                              Seen seen, zk::SessionId beside = 0,
                                              Changed changed = nullptr);
  void Stop();
  // Looks at once at a change that it gathers. True: a listing is to come.
  bool Hurry();

  void OnConnected() override;
  void OnDisconnected() override {}  // the watch stays
  void OnExpired() override;
  void OnFailed(const absl::Status& why) override { Tell(why); }
  void OnClosing() override { Tell(absl::FailedPreconditionError("the client is closed")); }

 private:
  ChildrenWatch(std::shared_ptr<internal::ClientCore> core, const std::string& path,
                absl::Duration gather, Seen seen);
  void Start(bool open, zk::SessionId beside);
  void Look(zk::WatchKind kind);
  void LookAfter(absl::Duration pause);
  void OnReply(const zk::Reply& reply);
  void Unwatch();
  void Tell(absl::StatusOr<zk::Names> names);

  const std::shared_ptr<internal::ClientCore> core_;
  const std::string path_;
  const absl::Duration gather_;
  Seen seen_;
  Changed changed_;                      // may be null
  std::shared_ptr<ChildrenWatch> self_;  // until stopped
  session::Session* session_ = nullptr;  // null before Start, and once stopped
  session::PathBudget::Reservation room_;
  uint64_t look_ = 0;     // the latest
  bool asking_ = true;    // ... has not been answered
  zk::Watch watch_ = {};  // ... its watch, if there is one
  session::machine::WatcherId watcher_ = 0;
  session::RetryPauses retry_pauses_;
};

}  // namespace zkrecipes::queue::listing

#endif  // ZKRECIPES_LIB_QUEUE_LISTING_CHILDREN_WATCH_H_

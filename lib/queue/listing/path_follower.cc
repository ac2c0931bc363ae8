// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/listing/path_follower.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/queue/machine/node_name.h"

namespace zkrecipes::queue::listing {

namespace action = machine::observing::action;
namespace event = machine::observing::event;

PathFollower::PathFollower(std::shared_ptr<internal::ClientCore> core, std::string path,
                           const char* operation)
    : core_(std::move(core)), path_(std::move(path)), operation_(operation) {}

// The room is one watch's, and kept for as long as it follows: a watch that has fired is set again,
// and by then others may have taken what there was. For a moment there are two, the new one first.
void PathFollower::Start(bool open) {
  if (!open) return Fail(absl::FailedPreconditionError("the client is closed"));
  const size_t bytes =
      parent().size() + 1 + machine::kLongestNodeName + session::PathBudget::kPerWatch;
  // No path: it has no node in the session, so it need not be apart with those that have.
  session::Session* const session = core_->sessions().WithRoom("", 0, bytes);
  if (session != nullptr) room_ = session->watch_budget().Reserve(bytes);
  if (!room_) {
    return Fail(absl::ResourceExhaustedError(
        absl::StrCat(operation_, " ", path_, ": this client has too many watches for ",
                     session::client::Sessions::kMost, " ZooKeeper sessions (",
                     session::PathBudget::kLimit, " bytes of paths in each)")));
  }
  session_ = session;
  // Before Join, which may announce a connection, and thereby events, at once.
  self_ = shared_from_this();
  session_->Join(this);
}

void PathFollower::Fail(absl::Status why) {
  TellLast(std::move(why));
  Stop();
}

void PathFollower::Stop() {
  const std::shared_ptr<PathFollower> alive = std::move(self_);
  if (session_ == nullptr) return;
  for (const auto& [op, watching] : watches_) session_->Unwatch(watching.watch, watching.id);
  watches_.clear();
  room_ = {};
  std::exchange(session_, nullptr)->Part(this);
}

void PathFollower::OnConnected() {
  retry_pauses_.Reset();
  On(event::Connected{});
}
void PathFollower::OnDisconnected() { On(event::Disconnected{}); }

// The server's watches went with the session, so there is nothing to take off.
void PathFollower::OnExpired() {
  watches_.clear();
  On(event::Expired{});
}

void PathFollower::OnFailed(const absl::Status& why) { Fail(why); }

void PathFollower::OnClosing() { Fail(absl::FailedPreconditionError("the client is closed")); }

void PathFollower::On(const machine::observing::Event& event) {
  const std::shared_ptr<PathFollower> alive = self_;
  if (alive != nullptr) Handle(event);  // null: stopped
}

void PathFollower::Act(const action::Send& send) {
  session_->Send(send.request, [self = self_, op = send.op](const zk::Reply& reply) {
    self->On(event::Replied{op, reply});
  });
}

void PathFollower::Act(const action::Watch& watch) {
  Watching& watching = watches_[watch.op];
  watching.watch = watch.watch;
  watching.id = session_->Watch(
      watch.watch,
      [self = self_, op = watch.op](const zk::Reply& reply) {
        self->On(event::Replied{op, reply});
      },
      [self = self_, op = watch.op](const std::string&, zk::WatchEvent what) {
        // It fires once: the server has taken it off.
        self->watches_.erase(op);
        self->On(event::Fired{op, what});
      });
}

void PathFollower::Act(const action::Unwatch& unwatch) {
  const auto it = watches_.find(unwatch.op);
  if (it == watches_.end()) return;
  session_->Unwatch(it->second.watch, it->second.id);
  watches_.erase(it);
}

void PathFollower::Act(const action::StartRetryTimer&) {
  After(retry_pauses_.Next(reactor().Now(), session_->timeout(), reactor().Random()),
        [this] { On(event::RetryDue{}); });
}

void PathFollower::Act(const action::Fail& fail) {
  Fail(zk::ToStatus(fail.code, operation_, path_));
}

void PathFollower::After(absl::Duration pause, absl::AnyInvocable<void() &&> then) {
  reactor().CallAt(reactor().Now() + pause,
                   [weak = weak_from_this(), then = std::move(then)]() mutable {
                     const auto self = weak.lock();
                     if (self != nullptr && self->following()) std::move(then)();
                   });
}

}  // namespace zkrecipes::queue::listing

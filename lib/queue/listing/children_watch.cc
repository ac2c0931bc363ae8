// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/listing/children_watch.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/random.h"
#include "lib/queue/machine/node_name.h"
#include "lib/queue/machine/observer.h"

namespace zkrecipes::queue::listing {

std::shared_ptr<ChildrenWatch> ChildrenWatch::Begin(std::shared_ptr<internal::ClientCore> core,
                                                    const std::string& path, absl::Duration gather,
                                                    Seen seen, zk::SessionId beside,
                                                    Changed changed) {
  std::shared_ptr<ChildrenWatch> self(
      new ChildrenWatch(std::move(core), path, gather, std::move(seen)));
  self->self_ = self;
  self->changed_ = std::move(changed);
  // Later, since Join may announce the connection, or the end of the client, at once.
  self->core_->Post([self, beside](session::Session* session) {
    if (self->self_ != nullptr) self->Start(session != nullptr, beside);
  });
  return self;
}

ChildrenWatch::ChildrenWatch(std::shared_ptr<internal::ClientCore> core, const std::string& path,
                             absl::Duration gather, Seen seen)
    : core_(std::move(core)),
      path_(core_->name_space().ToServer(path)),
      gather_(gather),
      seen_(std::move(seen)) {}

// The room is kept for as long as it follows: a watch that has fired is set again.
void ChildrenWatch::Start(bool open, zk::SessionId beside) {
  if (!open) return Tell(absl::FailedPreconditionError("the client is closed"));
  const size_t bytes =
      path_.size() + 1 + machine::kLongestNodeName + session::PathBudget::kPerWatch;
  session::Session* session = beside == 0 ? nullptr : core_->sessions().Of(beside);
  if (session != nullptr) room_ = session->watch_budget().Reserve(bytes);
  if (!room_) {
    session = core_->sessions().WithRoom("", 0, bytes);
    if (session != nullptr) room_ = session->watch_budget().Reserve(bytes);
  }
  if (!room_) {
    return Tell(absl::ResourceExhaustedError(
        absl::StrCat("watch ", path_, ": this client has too many watches")));
  }
  session_ = session;
  session_->Join(this);
}

void ChildrenWatch::Stop() {
  const std::shared_ptr<ChildrenWatch> alive = std::move(self_);
  ++look_;
  room_ = {};
  if (session_ == nullptr) return;
  Unwatch();
  std::exchange(session_, nullptr)->Part(this);
}

bool ChildrenWatch::Hurry() {
  if (session_ == nullptr || !asking_) return false;
  // While no watch stands it gathers, or pauses after an error.
  if (watcher_ == 0 && session_->connected()) Look(zk::WatchKind::kNode);
  return true;
}

void ChildrenWatch::OnConnected() {
  retry_pauses_.Reset();
  // What was asked before has been lost with the connection, and the watch perhaps never set. One
  // that was set fires now if there was a change meanwhile.
  if (asking_) Look(zk::WatchKind::kNode);
}

void ChildrenWatch::OnExpired() {
  watcher_ = 0;
  asking_ = true;
}

void ChildrenWatch::Look(zk::WatchKind kind) {
  Unwatch();
  asking_ = true;
  watch_ = {path_, kind};
  const uint64_t look = ++look_;
  watcher_ = session_->Watch(
      watch_,
      [self = self_, look](const zk::Reply& reply) {
        if (look == self->look_) self->OnReply(reply);
      },
      [self = self_, look](const std::string&, zk::WatchEvent) {
        if (look != self->look_) return;
        self->watcher_ = 0;  // it fires once
        self->asking_ = true;
        if (self->changed_ != nullptr && !self->changed_()) return;
        self->LookAfter(base::Jittered(self->gather_, self->core_->reactor()->Random()));
      });
}

void ChildrenWatch::LookAfter(absl::Duration pause) {
  if (pause == absl::ZeroDuration()) return Look(zk::WatchKind::kNode);
  zk::Reactor& reactor = *core_->reactor();
  reactor.CallAt(reactor.Now() + pause, [weak = weak_from_this(), look = look_] {
    const auto self = weak.lock();
    // Without a connection OnConnected looks.
    if (self == nullptr || look != self->look_ || self->session_ == nullptr) return;
    if (self->session_->connected()) self->Look(zk::WatchKind::kNode);
  });
}

void ChildrenWatch::OnReply(const zk::Reply& reply) {
  const bool of_children = watch_.kind == zk::WatchKind::kNode;
  if (reply.code == zk::Code::kNoNode && of_children) return Look(zk::WatchKind::kExists);
  if (reply.code == zk::Code::kOk && !of_children) return Look(zk::WatchKind::kNode);
  if (reply.code == zk::Code::kOk || reply.code == zk::Code::kNoNode) {
    asking_ = false;
    return Tell(reply.children);
  }
  if (!machine::observing::GoesAwayByItself(reply.code)) {
    return Tell(zk::ToStatus(reply.code, "list", path_));
  }
  Unwatch();
  zk::Reactor& reactor = *core_->reactor();
  LookAfter(retry_pauses_.Next(reactor.Now(), session_->timeout(), reactor.Random()));
}

void ChildrenWatch::Unwatch() {
  if (watcher_ != 0) session_->Unwatch(watch_, std::exchange(watcher_, 0));
}

void ChildrenWatch::Tell(absl::StatusOr<zk::Names> names) {
  const std::shared_ptr<ChildrenWatch> alive = self_;
  if (!names.ok()) Stop();
  seen_(std::move(names));
}

}  // namespace zkrecipes::queue::listing

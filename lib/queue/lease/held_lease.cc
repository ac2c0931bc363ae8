// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/lease/held_lease.h"

#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/queue/call/ask.h"

namespace zkrecipes::queue::lease {

HeldLease::HeldLease(zk::Reactor& reactor, session::Session& session, const std::string& path,
                     std::shared_ptr<internal::LeaseState> state, std::weak_ptr<void> owner,
                     Tell tell)
    : reactor_(reactor),
      session_(session),
      path_(path),
      state_(std::move(state)),
      owner_(std::move(owner)),
      tell_(std::move(tell)) {
  WatchEnd();
}

// ---- its end ------------------------------------------------------------------------------------

// The lease may end before its session's validity does: by its own terms, or by the delay lifetime.
// The heartbeat announces only the validity's end.
void HeldLease::WatchEnd() {
  const base::BootTime end = state_->EndTime();
  if (end == base::BootTime::InfiniteFuture()) return;
  end_timer_ = reactor_.CallAt(end, [this, owner = owner_] {
    if (const std::shared_ptr<void> alive = owner.lock()) OnEndTimer();
  });
}

// Its holder may have said meanwhile that it is alive, or a write have been confirmed.
void HeldLease::OnEndTimer() {
  end_timer_ = 0;
  const std::optional<LeaseEnd> end = state_->end_reason();
  if (!end.has_value()) return WatchEnd();
  // The first timer to notice announces every lease that has ended.
  if (!state_->announced()) session_.AnnounceEnded();
  tell_(machine::event::Lapsed{*end});
}

// ---- verification -------------------------------------------------------------------------------

void HeldLease::Verify(Waiter waiter) {
  waiting_.push_back(std::move(waiter));
  finished_ ? AnswerOver() : Ask();
}

// Without a connection: once it is back. One question at a time; a caller that comes meanwhile
// waits for the next one, since only what was asked after it came can answer it.
void HeldLease::Ask() {
  if (finished_ || waiting_.empty() || !asking_.empty() || !session_.connected()) return;
  asking_.swap(waiting_);
  const std::string node = state_->core().name_space().ToServer(state_->sequencer().node);
  call::ReadBehindBarrier(session_, node,
                          [this, alive = owner_.lock(), asker = session_.id()](
                              const std::optional<zk::Reply>& reply) { OnRead(asker, reply); });
}

// The node, as the quorum knew it when it counted the asking session as alive.
void HeldLease::OnRead(zk::SessionId asker, const std::optional<zk::Reply>& reply) {
  if (finished_) return;  // all are answered
  const bool read = reply.has_value() && reply->code == zk::Code::kOk;
  // Another node of this name, or of another owner, is not the lease's.
  const bool own =
      read && reply->stat.czxid == state_->node_czxid() && reply->stat.ephemeral_owner == asker;
  if (own) {
    for (Waiter& waiter : std::exchange(asking_, {})) std::move(waiter)(absl::OkStatus());
  } else if (read || (reply.has_value() && reply->code == zk::Code::kNoNode)) {
    // First: whoever is answered so finds the lease lost.
    std::vector<Waiter> asked = std::exchange(asking_, {});
    tell_(machine::event::NodeGone{});
    return Answer(asked, absl::StatusCode::kAborted, "its node is gone");
  } else if (!session_.connected()) {  // asked again by OnConnected
    std::move(asking_.begin(), asking_.end(), std::back_inserter(waiting_));
    return asking_.clear();
  } else {
    Answer(asking_, absl::StatusCode::kUnavailable, "the ensemble did not answer");
  }
  Ask();
}

void HeldLease::Finish() {
  finished_ = true;
  // Most leases end long before this timer would, which keeps memory until then.
  reactor_.Cancel(end_timer_);
  AnswerOver();
}

void HeldLease::AnswerOver() {
  for (auto* waiters : {&asking_, &waiting_}) {
    Answer(*waiters, absl::StatusCode::kAborted, "the lease is over");
  }
}

void HeldLease::Answer(std::vector<Waiter>& waiters, absl::StatusCode code, const char* why) {
  for (Waiter& waiter : std::exchange(waiters, {})) {
    std::move(waiter)(absl::Status(code, absl::StrCat("verify ", path_, ": ", why)));
  }
}

}  // namespace zkrecipes::queue::lease

// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/own_node/own_node_turns.h"

#include <optional>

#include "absl/strings/str_cat.h"

#include "lib/base/random.h"
#include "lib/queue/call/ask.h"
#include "lib/queue/lease/verification.h"
#include "lib/queue/own_node/write_status.h"
#include "lib/session/retry_pauses.h"

namespace zkrecipes::queue::own_node {

using State = machine::OwnNodeWrite::State;

OwnNodeTurn::OwnNodeTurn(std::shared_ptr<internal::LeaseState> lease, const WriteJob& job,
                         const WaitOptions& wait, call::Done<absl::Status> done)
    : Call(lease->core().shared_from_this(), wait, std::move(done)),
      lease_(std::move(lease)),
      what_(job.what),
      ops_(job.ops),
      write_(job.data, job.ops) {}

// The call is settled before this reads `sent_`, and MarkSent sets `sent_` before it asks whether
// the call is settled. So a write that is sent is always reported as perhaps written; one that is
// not sent may be reported so, too, which is only cautious.
absl::Status OwnNodeTurn::GivenUp(bool cancelled) {
  const absl::Status why = call::NotAnswered(*core(), what_, timeout(), cancelled);
  return sent_ ? WithUncertainty(why) : why;
}

bool OwnNodeTurn::MarkSent() {
  sent_ = true;
  return !settled();
}

absl::Status OwnNodeTurn::Describe(const std::string& node) const {
  return DescribeWrite(core()->name_space(), what_, ops_, node, write_.result());
}

// The lease first: whoever is told that it is over finds it lost.
void OwnNodeTurn::Answer(absl::Status answer) {
  if (absl::IsAborted(answer)) lease_->OnNodeGone();
  Settle(std::move(answer));
}

std::shared_ptr<OwnNodeTurn> Write(const std::shared_ptr<internal::LeaseState>& lease,
                                   const WriteJob& job, const WaitOptions& wait,
                                   call::Done<absl::Status> done) {
  auto turn = std::make_shared<OwnNodeTurn>(lease, job, wait, std::move(done));
  turn->HeedCancel(wait.cancel);  // first: what was cancelled already is not sent
  lease->turns().Add(turn);
  return turn;
}

void OwnNodeTurns::Add(std::shared_ptr<OwnNodeTurn> turn) {
  core_->Post([self = shared_from_this(), turn = std::move(turn)](session::Session* session) {
    self->Begin(session, turn);
  });
}

void OwnNodeTurns::OnLeaseEnded() {
  core_->Post([self = shared_from_this()](session::Session* session) {
    if (session != nullptr) self->GoOn();
  });
}

void OwnNodeTurns::Begin(session::Session* session, std::shared_ptr<OwnNodeTurn> turn) {
  if (session == nullptr) {
    return turn->Answer(absl::FailedPreconditionError("the client is closed"));
  }
  // Behind the others: each write names the version that the one before has left.
  turns_.push_back(std::move(turn));
  // Joined only while there are turns: most leases never write.
  if (session_ == nullptr) {
    self_ = shared_from_this();
    session::Session* const own = core_->sessions().Of(node_.session);
    session_ = own != nullptr ? own : session;  // without its session the node is gone
    session_->Join(this);                       // may end everything, or go on, at once
  }
  GoOn();
}

void OwnNodeTurns::GoOn() {
  const std::shared_ptr<OwnNodeTurns> alive = self_;
  while (!asking_ && !turns_.empty()) {
    // Kept, since its answer may destroy whoever owns it.
    const std::shared_ptr<OwnNodeTurn> turn = turns_.front();
    if (!Step(*turn)) return;
  }
  if (!turns_.empty() || session_ == nullptr) return;
  std::exchange(session_, nullptr)->Part(this);
  self_.reset();
}

// One step of the first turn.
bool OwnNodeTurns::Step(OwnNodeTurn& turn) {
  if (IsOver(turn)) return true;
  if (!session_->connected()) return false;
  if (turn.write_.state() == State::kLooking) {
    Look(turn);
  } else if (turn.MarkSent()) {
    Send(turn);
  } else {
    turns_.pop_front();
    return true;
  }
  return false;
}

bool OwnNodeTurns::IsOver(OwnNodeTurn& turn) {
  // While a write is open its outcome is unknown: it must be found out, even if the caller has
  // given up or the lease has ended, before the next turn may name a version.
  const bool open = turn.write_.open();
  if (turn.write_.state() == State::kDone) {
    End(turn.Describe(node_.path));
    return true;
  }
  if (!open) {
    turn.MarkNotSent();
    if (absl::Status over = turn.lease_->CheckAlive("write by"); !over.ok()) {
      End(std::move(over));
      return true;
    }
    if (turn.settled()) {  // given up
      turns_.pop_front();
      return true;
    }
  }
  // Another session: the node went with its own.
  if (session_->id() == node_.session) return false;
  End(DescribeWrite(core_->name_space(), turn.what_, turn.ops_, node_.path,
                    {.kind = machine::WriteResult::Kind::kNodeGone, .may_be_written = open}));
  return true;
}

void OwnNodeTurns::Send(OwnNodeTurn& turn) {
  asking_ = true;
  // A request that is lost with the connection may have been committed: OnWritten then asks for a
  // read.
  session_->Send(turn.write_.Send(node_), [self = self_](const zk::Reply& reply) {
    self->asking_ = false;
    if (self->turns_.empty()) return;  // all was ended meanwhile
    // Only the first turn sends, so the answer is its own.
    self->turns_.front()->write_.OnWritten(reply, self->node_);
    self->GoOn();
  });
}

void OwnNodeTurns::Look(OwnNodeTurn& /*turn*/) {
  asking_ = true;
  lease::ReadBehindBarrier(*session_, node_.path,
                           [self = self_](const std::optional<zk::Reply>& reply) {
                             self->asking_ = false;
                             if (self->turns_.empty()) return;
                             if (!reply.has_value()) return self->GoOnAfterAPause();
                             self->turns_.front()->write_.OnRead(*reply, self->node_);
                             self->GoOn();
                           });
}

// Without a connection OnConnected goes on.
void OwnNodeTurns::GoOnAfterAPause() {
  // A barrier that was not confirmed says nothing: it is asked again.
  if (!session_->connected()) return;
  zk::Reactor& reactor = *core_->reactor();
  reactor.CallAt(reactor.Now() + base::Jittered(session::kRetryPause, reactor.Random()),
                 [weak = weak_from_this()] {
                   if (const auto self = weak.lock()) self->GoOn();
                 });
}

// The turn is taken off first: its answer may add the next one.
void OwnNodeTurns::End(absl::Status answer) {
  const std::shared_ptr<OwnNodeTurn> turn = std::move(turns_.front());
  // Out of the queue first: the answer may add another turn.
  turns_.pop_front();
  turn->Answer(std::move(answer));
}

void OwnNodeTurns::OnFailed(const absl::Status& why) {
  const std::shared_ptr<OwnNodeTurns> alive = self_;
  while (!turns_.empty()) {
    const bool open = turns_.front()->write_.open();
    End(open ? WithUncertainty(why) : why);
  }
  if (session_ != nullptr) std::exchange(session_, nullptr)->Part(this);
  self_.reset();
}

void OwnNodeTurns::OnClosing() { OnFailed(absl::FailedPreconditionError("the client is closed")); }

}  // namespace zkrecipes::queue::own_node

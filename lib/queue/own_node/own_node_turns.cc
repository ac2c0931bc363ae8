// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/own_node/own_node_turns.h"

#include <cstddef>
#include <optional>
#include <variant>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

#include "lib/base/random.h"
#include "lib/queue/call/ask.h"
#include "lib/session/retry_pauses.h"
#include "lib/zk/seam/path.h"
#include "zkrecipes/guarded_write.h"

namespace zkrecipes {
namespace queue::own_node {
namespace {

using Kind = machine::WriteResult::Kind;
using State = machine::OwnNodeWrite::State;

// A payload, so that a user can ask for it (MayBeWritten) whatever the status says.
constexpr char kUncertain[] = "zkrecipes/may-be-written";

// The caller must not repeat such a write as if nothing had happened.
absl::Status WithUncertainty(const absl::Status& status) {
  absl::Status uncertain(
      status.code(),
      absl::StrCat(status.message(), "; it is not known whether anything was written"));
  uncertain.SetPayload(kUncertain, absl::Cord("1"));
  return uncertain;
}

const char* NameOf(const zk::Multi::Op& op) {
  if (std::holds_alternative<zk::Create>(op)) return "create";
  return std::holds_alternative<zk::Delete>(op) ? "delete" : "set";
}

}  // namespace

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
  const auto cut_off = lease_->reach().CutOff(core()->Now());
  const absl::Status why = call::NotAnswered(cut_off, what_, timeout(), cancelled);
  return sent_ ? WithUncertainty(why) : why;
}

bool OwnNodeTurn::MarkSent() {
  sent_ = true;
  return !settled();
}

// The transaction is all or nothing, so one operation's refusal means that nothing was written.
absl::Status OwnNodeTurn::Refused(const machine::WriteResult& result,
                                  const std::string& node) const {
  const zk::Namespace& name_space = core()->name_space();
  if (result.operation == machine::WriteResult::kOwnNode) {
    return zk::ToStatus(result.code, what_ + ": the lease's own node", name_space.ToUser(node));
  }
  const zk::Multi::Op& op = ops_[static_cast<size_t>(result.operation)];
  return zk::ToStatus(result.code,
                      absl::StrCat(what_, ": operation ", result.operation, ", ", NameOf(op)),
                      name_space.ToUser(zk::PathOf(op)));
}

absl::Status OwnNodeTurn::Describe(const machine::WriteResult& result,
                                   const std::string& node) const {
  const std::string path = core()->name_space().ToUser(node);
  const char* const nothing = result.may_be_written ? "" : "; nothing was written";
  absl::Status status;
  switch (result.kind) {
    case Kind::kWritten:
      return absl::OkStatus();
    case Kind::kRefused:
      return Refused(result, node);
    case Kind::kNodeGone:
      status = absl::AbortedError(
          absl::StrCat(what_, ": the lease is lost: its node ", path, " is gone", nothing));
      break;
    case Kind::kSessionEnded:
      status = absl::AbortedError(
          absl::StrCat(what_, ": the lease is lost: its session has ended", nothing));
      break;
    // Each try was found not to have happened before the next was sent.
    case Kind::kLostAgain:
      return absl::UnavailableError(
          absl::StrCat(what_,
                       ": each time that it was sent the connection was lost before the answer "
                       "came; nothing was written"));
    // A stranger has overwritten the mark, or the node cannot be read: both outcomes are possible.
    case Kind::kUnclear:
      status = absl::UnavailableError(absl::StrCat(
          what_, ": the answer was lost, and the node ", path,
          " does not tell any more what became of it (", zk::CodeName(result.code), ")"));
      break;
  }
  return result.may_be_written ? WithUncertainty(status) : status;
}

// The lease first: whoever is told that it is over finds it lost.
void OwnNodeTurn::Answer(const machine::WriteResult& result, const std::string& node) {
  if (result.kind == Kind::kNodeGone) lease_->OnNodeGone();
  if (result.kind == Kind::kSessionEnded) (void)lease_->End(LeaseEnd::kSessionExpired);
  Settle(Describe(result, node));
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
    turn->Settle(absl::FailedPreconditionError("the client is closed"));
    return;
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
    Look();
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
    End(turn.write_.result());
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
  End(machine::WriteResult{.kind = Kind::kSessionEnded, .may_be_written = open});
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

void OwnNodeTurns::Look() {
  asking_ = true;
  call::ReadBehindBarrier(*session_, node_.path,
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

// Out of the queue first: the answer may add another turn.
std::shared_ptr<OwnNodeTurn> OwnNodeTurns::TakeFirst() {
  std::shared_ptr<OwnNodeTurn> turn = std::move(turns_.front());
  turns_.pop_front();
  return turn;
}

void OwnNodeTurns::End(absl::Status answer) { TakeFirst()->Settle(std::move(answer)); }

void OwnNodeTurns::End(const machine::WriteResult& result) {
  const std::shared_ptr<OwnNodeTurn> turn = TakeFirst();
  turn->Answer(result, node_.path);
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

}  // namespace queue::own_node

bool MayBeWritten(const absl::Status& status) {
  return status.GetPayload(queue::own_node::kUncertain).has_value();
}

}  // namespace zkrecipes

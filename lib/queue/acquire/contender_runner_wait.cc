// SPDX-License-Identifier: Apache-2.0
//
// A contender's time limit, and what its user is told of those in front.

#include <algorithm>
#include <utility>

#include "lib/queue/acquire/contender_runner.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::acquire {
namespace {

// A wait that is about to time out looks who is in front this long before: a fraction of the
// timeout, so that few of the waits that are granted look in vain.
constexpr int kLookFraction = 5;
constexpr absl::Duration kLookAhead = absl::Seconds(1);

}  // namespace

// ---- what its session is asked for --------------------------------------------------------------

// A session is proven while a lease is held, and from shortly before a grant. Not while the
// contender waits far from its turn: then the session sends reads, which look how near that is.
bool ContenderRunner::NeedsProof() const {
  if (lease_ != nullptr) return true;
  return contender_.state() != machine::Contender::State::kLeaving && !WaitsFarBack();
}

bool ContenderRunner::WaitsFarBack() const {
  return contender_.state() == machine::Contender::State::kWatching && !nearness_.near();
}

std::string ContenderRunner::NodeToCheck() const {
  if (!WaitsFarBack()) return "";
  return zk::JoinPath(candidacy().parent, contender_.lower().at(nearness_.place()));
}

void ContenderRunner::OnNodeChecked(bool there) {
  nearness_.OnLook(there);
  UpdateNeed();
}

void ContenderRunner::UpdateNeed() {
  if (session_ != nullptr) session_->NeedChanged(this);  // null: finished
}

void ContenderRunner::StartTimeout() {
  if (acquisition_->deadline() == base::BootTime::InfiniteFuture()) return;
  if (candidacy().try_only) return StartLastTimer();
  const absl::Duration left = acquisition_->deadline() - core_->Now();
  const absl::Duration ahead = std::min(left / kLookFraction, kLookAhead);
  timeout_ = core_->reactor()->CallAt(core_->Now() + (left - ahead), [self = self_] {
    self->StartLastTimer();
    self->Look();
  });
}

void ContenderRunner::StartLastTimer() {
  timeout_ = core_->reactor()->CallAt(acquisition_->deadline(), [self = shared_from_this()] {
    self->timeout_ = 0;
    self->acquisition_->TimeOut();
  });
}

// The answer has to come at the deadline, so what it says is asked for before. Not of the machine:
// its state does not depend on it.
void ContenderRunner::Look() {
  using State = machine::Contender::State;
  const State state = contender_.state();
  const bool first = state == State::kReading || state == State::kDelaying ||
                     state == State::kMarking || state == State::kProving;
  if (first) return acquisition_->Know({});
  const bool queued = state == State::kWatching || state == State::kListing;
  const bool in_time = core_->Now() < acquisition_->deadline();
  if (!queued || !in_time || !session_->connected()) return;
  const std::string& parent = candidacy().parent;
  session_->Send(zk::GetChildren{parent}, [self = self_](const zk::Reply& reply) {
    const bool has_node = self->session_ != nullptr && !self->contender_.node().empty();
    if (reply.code != zk::Code::kOk || !has_node) return;
    const listing::Rivals rivals = self->RivalsIn(reply.children);
    self->acquisition_->Know(rivals);
    if (self->acquisition_->settled()) return;
    listing::ReadHeadOf(
        *self->session_, self->candidacy().parent, rivals,
        [self](listing::Rivals known) { self->acquisition_->Know(std::move(known)); });
  });
}

listing::Rivals ContenderRunner::RivalsIn(const zk::Names& children) const {
  return listing::RivalsIn(children, zk::NodeName(contender_.node()), candidacy().follows.node);
}

// The contender has finished: only its user waits, for the holder's name or for the deadline.
void ContenderRunner::AnswerBusy() {
  const listing::Rivals rivals = rivals_ == nullptr ? listing::Rivals() : *rivals_;
  acquisition_->KnowBusy(rivals);
  listing::ReadHeadOf(*session_, candidacy().parent, rivals,
                      [self = shared_from_this()](const listing::Rivals& known) {
                        self->CancelTimeout();
                        const std::string& path = self->acquisition_->path();
                        self->acquisition_->Settle(listing::BusyStatus(path, known));
                        if (self->telling_) self->telling_->LookAtRefusal();
                      });
}

void ContenderRunner::CancelTimeout() {
  if (timeout_ != 0) core_->reactor()->Cancel(std::exchange(timeout_, 0));
}

}  // namespace zkrecipes::queue::acquire

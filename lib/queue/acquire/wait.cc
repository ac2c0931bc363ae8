// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/acquire/wait.h"

#include <algorithm>
#include <utility>

#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::acquire {
namespace {

using State = machine::Contender::State;

// A wait that is about to time out asks who is in front this long before: a fraction of the
// timeout, so that few of the waits that are granted ask in vain.
constexpr int kAheadFraction = 5;
constexpr absl::Duration kLongestAhead = absl::Seconds(1);
// How long a contender may be first in the queue and not proven: with answers that are quick enough
// a proof takes a fraction of one timeout.
constexpr int kTimeoutsForAProof = 2;

// Whether it is settled that it is not first, or not any more. While it lists, say, it may still
// be.
bool IsPlaced(State state) {
  return state == State::kOutside || state == State::kJoining || state == State::kWatching ||
         state == State::kHeld || state == State::kLeaving || state == State::kDone;
}

bool IsFirst(State state) {
  return state == State::kReading || state == State::kDelaying || state == State::kMarking ||
         state == State::kProving;
}

}  // namespace

internal::ClientCore& Wait::core() const { return *acquisition_.core(); }

void Wait::Begin(session::Session* session, const std::shared_ptr<void>& owner) {
  session_ = session;
  owner_ = owner;
  if (acquisition_.deadline() == base::BootTime::InfiniteFuture()) return;
  // A try has listed those in front already.
  if (contender_.candidacy().try_only) return StartLastTimer();
  const base::BootTime now = core().Now();
  const absl::Duration left = acquisition_.deadline() - now;
  const absl::Duration ahead = std::min(left / kAheadFraction, kLongestAhead);
  timer_ = core().reactor()->CallAt(now + (left - ahead), [self = Self()] {
    self->StartLastTimer();
    self->AskWhoIsInFront();
  });
}

void Wait::StartLastTimer() {
  timer_ = core().reactor()->CallAt(acquisition_.deadline(), [self = Self()] {
    self->timer_ = 0;
    // First in the queue, it waits for a proof or a delay: the refusal names no contender then.
    if (IsFirst(self->contender_.state())) self->acquisition_.Know({});
    self->acquisition_.TimeOut();
  });
}

// Others wait behind it, however patient its own user is. A connection that breaks again and again
// does not put it off.
void Wait::LimitProof(absl::Duration pause) {
  proof_timer_ = core().reactor()->CallAt(core().Now() + pause, [this, weak = owner_] {
    const auto alive = weak.lock();
    if (alive == nullptr) return;
    proof_timer_ = 0;
    const State state = contender_.state();
    const absl::Duration timeout = session_->timeout();
    if (state == State::kProving) {
      acquisition_.LeaveUnproven(kTimeoutsForAProof * timeout);
    } else if (!IsPlaced(state)) {
      LimitProof(timeout / 2);
    }
  });
}

void Wait::Stop(zk::Reactor::TimerId& timer) {
  if (timer != 0) core().reactor()->Cancel(std::exchange(timer, 0));
}

void Wait::End() {
  Stop(timer_);
  Stop(proof_timer_);
}

// The nearness begins anew with each wait: behind another predecessor the old checks say nothing.
void Wait::Update(State before) {
  const size_t in_front = contender_.in_front().size();
  acquisition_.set_in_front(in_front);
  const bool begins_to_wait =
      contender_.state() == State::kWatching && before != contender_.state();
  if (begins_to_wait) nearness_ = machine::Nearness(in_front);
  const bool stands_in_the_way = contender_.candidacy().mode != machine::Mode::kMember;
  if (contender_.state() == State::kProving && stands_in_the_way && proof_timer_ == 0) {
    LimitProof(kTimeoutsForAProof * session_->timeout());
  }
  if (IsPlaced(contender_.state())) Stop(proof_timer_);
  const bool delaying = contender_.state() == State::kDelaying;
  // Only the proof is missing once it is kProving, however long the delay was before.
  if (delaying || contender_.state() == State::kProving) acquisition_.set_delayed(delaying);
}

// Far from its turn a contender can do without a proven session, which saves its beats: when those
// in front go it lists again, and is proven before it is granted.
bool Wait::FarFromTurn() const {
  return contender_.state() == State::kWatching && !nearness_.near();
}

std::string Wait::NodeToCheck() const {
  if (!FarFromTurn()) return "";
  return zk::JoinPath(parent(), contender_.in_front().at(nearness_.place()));
}

listing::Rivals Wait::RivalsIn(const zk::Names& children) const {
  const machine::Candidacy& candidacy = contender_.candidacy();
  listing::Rivals rivals =
      listing::RivalsIn(children, zk::NodeName(contender_.node()), candidacy.follows.node);
  rivals.candidates = candidacy.mode == machine::Mode::kLeader;
  return rivals;
}

// The answer has to come at the deadline, so the names in it are asked for before. Not by the
// machine: its state does not depend on them. Without an answer the refusal names nobody.
void Wait::AskWhoIsInFront() {
  const State state = contender_.state();
  const bool queued = state == State::kWatching || state == State::kListing;
  const bool in_time = core().Now() < acquisition_.deadline();
  if (!queued || !in_time || !session_->connected()) return;
  session_->Send(zk::GetChildren{parent()}, [self = Self()](const zk::Reply& reply) {
    if (reply.code == zk::Code::kOk) self->OnRivals(reply.children);
  });
}

// The wait may have been answered meanwhile, or its session have expired.
void Wait::OnRivals(const zk::Names& children) {
  if (contender_.state() == State::kDone || contender_.node().empty()) return;
  const listing::Rivals rivals = RivalsIn(children);
  acquisition_.Know(rivals);
  if (acquisition_.settled()) return;
  listing::ReadHeadOf(*session_, parent(), rivals, [self = Self()](listing::Rivals known) {
    self->acquisition_.Know(std::move(known));
  });
}

void Wait::AnswerBusy(std::function<void()> answered) {
  acquisition_.KnowBusy(*rivals_);
  listing::ReadHeadOf(
      *session_, parent(), *rivals_,
      [self = Self(), answered = std::move(answered)](const listing::Rivals& known) {
        self->End();
        Acquisition& acquisition = self->acquisition_;
        acquisition.Settle(listing::BusyStatus(acquisition.path(), known));
        answered();
      });
}

}  // namespace zkrecipes::queue::acquire

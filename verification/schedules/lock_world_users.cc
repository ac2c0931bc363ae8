// SPDX-License-Identifier: Apache-2.0
//
// The moves of a LockWorld's users, and their answers.

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "lib/queue/lease/lease_state.h"
#include "lib/queue/listing/node_data.h"
#include "verification/schedules/lock_world.h"

namespace zkrecipes::schedules {

namespace {

constexpr absl::Duration kBrief = absl::Seconds(2);

// The ensemble's history is longer than that of one token.
auto OrderOf(const FencingPass& pass) {
  return std::make_tuple(pass.epoch, pass.token.value(), pass.turn);
}

}  // namespace

size_t LockWorld::OpenClient() {
  const auto host = simulation_.AddHost();
  const auto core = simulation_.NewClient(
      host, {.session_timeout = options_.session_timeout, .lease = options_.lease});
  core->Start([](const absl::Status&) {});
  processes_.push_back({host, core});
  if (shards_ != nullptr) processes_.back().client = internal::ClientAccess::Wrap(core);
  if (keeps()) processes_.back().kept = NewKept(core);
  return processes_.size() - 1;
}

std::shared_ptr<internal::LocalQueue> LockWorld::NewKept(
    const std::shared_ptr<internal::ClientCore>& core) {
  const CachedLockOptions options{.max_turns_once_asked = static_cast<int>(options_.seed % 4),
                                  .keep_idle_for = tires() ? kKeptIdle : absl::InfiniteDuration()};
  return std::make_shared<internal::LocalQueue>(
      std::make_shared<const internal::PathQueue>(core, kLockPath, Listening(core)), options);
}

bool LockWorld::Holds(size_t slot) const {
  const auto& bid = slots_[slot];
  return bid != nullptr && bid->lease.has_value() && bid->next == nullptr;
}

Bid* LockWorld::NewestOf(size_t slot) const {
  const auto& bid = slots_[slot];
  return bid != nullptr && bid->next != nullptr ? bid->next.get() : bid.get();
}

std::shared_ptr<Bid> LockWorld::NewBid(size_t slot) {
  auto bid = std::make_shared<Bid>();
  bid->core = processes_[current_[slot % current_.size()]].core;
  // Its answer may rest on what the server that is furthest behind still shows.
  bid->since = model().last_zxid(0);
  for (int i = 1; i < servers(); ++i) {
    bid->since = std::min(bid->since, model().last_zxid(i));
  }
  bids_.push_back(bid);
  return bid;
}

void LockWorld::JoinOrLeave(size_t slot) {
  const Process& process = processes_[current_[slot % current_.size()]];
  shards_->JoinOrLeave(slot, process.client, Listening(process.core));
}

void LockWorld::Begin(size_t slot, MoveKind kind) {
  const std::shared_ptr<Bid> bid = NewBid(slot);
  if (elects()) {
    bid->candidacy.mode = queue::machine::Mode::kLeader;
    bid->candidacy.data = queue::listing::CandidateData(absl::StrCat("slot ", slot), "at first");
  } else if (!options_.modes.empty()) {
    bid->candidacy.mode = options_.modes[slot];
    if (bid->candidacy.mode == queue::machine::Mode::kPermit) {
      bid->candidacy.permits = static_cast<uint16_t>(options_.permits);
    }
  }
  bid->candidacy.lock_delay = options_.lock_delay;
  bid->candidacy.try_only = kind == MoveKind::kTry;
  bid->brief = kind == MoveKind::kAcquireBriefly;
  bid->met_others = MeetsOthers(*bid);
  slots_[slot] = bid;
  Start(slot, bid);
}

std::optional<queue::machine::Candidacy> LockWorld::GoingOn(size_t slot) const {
  using queue::machine::Mode;
  if (!Holds(slot)) return std::nullopt;
  const Bid& from = *slots_[slot];
  const Mode mode = from.candidacy.mode;
  if (mode != Mode::kShared && mode != Mode::kSharedWriter) return std::nullopt;
  auto going_on = queue::acquire::GoingOnFrom(
      internal::PathQueue(from.core, kLockPath), internal::LeaseMaker::StateOf(*from.lease).get(),
      mode,
      {.mode = mode == Mode::kShared ? Mode::kSharedWriter : Mode::kShared,
       .lock_delay = options_.lock_delay});
  return going_on.ok() ? std::optional(*going_on) : std::nullopt;  // its lease has ended
}

void LockWorld::GoUpOrDown(size_t slot) {
  std::optional<queue::machine::Candidacy> going_on = GoingOn(slot);
  const std::shared_ptr<Bid> from = slots_[slot];
  const std::shared_ptr<Bid> next = NewBid(slot);
  next->core = from->core;
  next->candidacy = *std::move(going_on);
  next->closed = from->closed;
  next->from = from;
  from->next = next;
  Start(slot, next);
}

void LockWorld::Proclaim(size_t slot) {
  const Bid& bid = *slots_[slot];
  election_->Proclaim(bid.core, internal::LeaseMaker::StateOf(*bid.lease));
}

void LockWorld::Write(size_t slot) {
  const Bid& bid = *slots_[slot];
  register_->Write(bid.core, internal::LeaseMaker::StateOf(*bid.lease));
}

void LockWorld::Start(size_t slot, const std::shared_ptr<Bid>& bid) {
  WaitOptions wait;
  if (bid->brief) wait.timeout = kBrief;
  wait.cancel = bid->cancel.get_token();
  const auto answered = [this, slot, bid](auto answer) {
    if (!bid->died) OnAnswer(slot, bid, absl::StatusOr<Hold>(std::move(answer)));
    EndCallback(bid->core);
  };
  if (slot < static_cast<size_t>(options_.keepers)) {
    using Kept = internal::LocalQueue;
    const auto form = bid->candidacy.try_only ? Kept::Form::kTry : Kept::Form::kAsync;
    const auto kept = processes_[current_[slot % current_.size()]].kept;
    if (TakesIdle(*kept, slot, bid)) return;
    for (const auto& other : Live()) {  // whose answer it may share
      bid->deleted |= other->deleted && other->waiting() && other->core == bid->core;
    }
    queue::call::Async(Kept::Entering(kept, form), wait, answered);
    return;
  }
  const auto queue =
      std::make_shared<const internal::PathQueue>(bid->core, kLockPath, Listening(bid->core));
  queue::call::Async(queue::acquire::Enter(queue, bid->candidacy), wait, answered);
}

// As a call that blocks begins. A turn that an asynchronous one is granted may be heard of late.
bool LockWorld::TakesIdle(internal::LocalQueue& kept, size_t slot,
                          const std::shared_ptr<Bid>& bid) {
  if (!bid->brief && !bid->candidacy.try_only) return false;
  std::optional<CachedLease> turn = kept.TakeIdle();
  if (!turn.has_value()) return false;
  if (turn->tenure().remaining() == absl::ZeroDuration()) {
    Break("a turn past the deadline", absl::StrCat("slot ", slot));
  }
  OnAnswer(slot, bid, Hold(*std::move(turn)));
  return true;
}

std::vector<std::shared_ptr<Bid>> LockWorld::Live() const {
  std::vector<std::shared_ptr<Bid>> live;
  for (const auto& bid : slots_) {
    if (bid == nullptr) continue;
    live.push_back(bid);
    if (bid->next != nullptr) live.push_back(bid->next);
  }
  return live;
}

// Whether a node of another session is in some server's queue, or one of this session may be, of an
// earlier bid.
bool LockWorld::MeetsOthers(const Bid& bid) {
  for (const auto& other : bids_) {
    if (other.get() != &bid && other->core == bid.core) return true;
  }
  for (int i = 0; i < servers(); ++i) {
    for (const std::string& name : model().tree(i).Children(kLockPath)) {
      if (!queue::machine::ParseNodeName(name).has_value()) continue;
      const testing::memory::Node* node = model().tree(i).Find(absl::StrCat(kLockPath, "/", name));
      // A stranger's has no owner, and a client that has not connected no session.
      if (node->owner == 0 || node->owner != bid.core->session_id()) return true;
    }
  }
  return false;
}

void LockWorld::OnAnswer(size_t slot, const std::shared_ptr<Bid>& bid,
                         absl::StatusOr<Hold> answer) {
  Follow();
  if (++bid->answers > 1) Break("answered twice", absl::StrCat("slot ", slot));
  if (answer.ok()) return OnGrant(slot, bid, *std::move(answer));
  (bid->from != nullptr ? bid->from->next : slots_[slot]) = nullptr;
  if (!IsBusy(answer.status())) return CheckError(slot, *bid, answer.status());
  const bool met_others = bid->met_others || MeetsOthers(*bid) ||
                          history_.CreatedByOthers(bid->since, bid->core->session_id());
  if (!bid->candidacy.try_only || !met_others) {
    Break("busy though it was alone", absl::StrCat("slot ", slot));
  }
}

void LockWorld::OnGrant(size_t slot, const std::shared_ptr<Bid>& bid, Hold lease) {
  ++grants_;
  bid->node = internal::LeaseMaker::StateOf(*lease)->node_czxid();
  const std::string who = absl::StrCat("slot ", slot, " with ", lease->node());
  CheckGrant(*bid, lease, who);
  Check();  // that no other slot still believes
  if (delays()) CheckDelay(bid, who);
  if (keeps() && !history_.EndOf(bid->node).has_value()) CheckOrder(lease, who);
  bid->lease = std::move(lease);
  bid->granted = now();
  bid->gave_back = bid->closed;  // before it heard of the grant
  bid->on_lost.emplace(bid->lease->ended(), [this, a = bid.get()] {
    ++a->losses;
    EndCallback(a->core);
  });
  if (bid->from == nullptr || bid->died) return;
  slots_[slot] = bid;
  bid->from->next = nullptr;
  bid->from->Release();
}

void LockWorld::CheckGrant(const Bid& bid, const Hold& lease, const std::string& who) {
  const Bid* const from = bid.from.get();
  const int64_t followed = from != nullptr ? from->node : 0;
  if (!history_.WasAdmitted(bid.node, followed)) Break("granted though never first", who);
  if (!granted_.emplace(bid.node, lease.pass().turn).second) Break("granted twice", who);
  for (const auto& other : slots_) {
    const bool holds = other != nullptr && other.get() != &bid && other->lease.has_value();
    if (holds && other->node == bid.node) Break("granted beside another turn", who);
  }
  const bool downgraded = from != nullptr && bid.candidacy.mode == queue::machine::Mode::kShared;
  const int64_t token = downgraded ? from->lease->token().value() : bid.node;
  if (lease->token().value() != token) Break("granted a wrong token", who);
  if (from != nullptr && !history_.WasBornUnder(bid.node, followed)) {
    Break("went on from a lease that had ended", who);
  }
}

void LockWorld::CheckOrder(const Hold& lease, const std::string& who) {
  if (lease->remaining() == absl::ZeroDuration()) return;  // it hears late of its grant
  const FencingPass before = std::exchange(highest_, lease.pass());
  if (OrderOf(highest_) <= OrderOf(before)) Break("passes out of order", who);
}

// The delay is measured by the clock of the next holder, which may run a tenth fast. Nothing waits
// after a reader.
void LockWorld::CheckDelay(const std::shared_ptr<Bid>& bid, const std::string& who) {
  if (last_ != nullptr && last_->node > bid->node) return;  // it hears late of its grant
  const std::shared_ptr<Bid> before = last_;
  if (bid->exclusive()) last_ = bid;
  if (before == nullptr || before == bid->from || before->gave_back) return;
  const auto ended = history_.EndOf(before->node);
  if (!ended.has_value()) return;
  const absl::Duration waited = now() - *ended;
  if (waited < options_.lock_delay / 1.1) {
    Break("granted without the lock delay",
          absl::StrCat(who, ", after ", absl::FormatDuration(waited)));
  }
}

void LockWorld::CheckError(size_t slot, const Bid& bid, const absl::Status& status) {
  const bool explained =
      (bid.cancelled && absl::IsCancelled(status)) ||
      (bid.brief && (absl::IsDeadlineExceeded(status) || absl::IsUnavailable(status))) ||
      (bid.closed && absl::IsFailedPrecondition(status)) ||
      (bid.deleted && absl::IsAborted(status)) ||
      (tenant_.has_denied() && absl::IsPermissionDenied(status)) ||
      (bid.candidacy.permits > 0 && absl::IsFailedPrecondition(status) && HasNoNumber()) ||
      ((options_.next_sequence != 0 || options_.servers.throttled_of > 0) &&
       absl::IsResourceExhausted(status)) ||
      (everyday_ == nullptr && absl::IsUnavailable(status) &&
       absl::StrContains(status.message(), "not proven alive")) ||
      MayNotGoUpOrDown(bid, status);
  if (!explained) {
    Break("unexpected answer", absl::StrCat("slot ", slot, ": ", status.ToString()));
  }
}

// The tenant made the path, with a text of its own.
bool LockWorld::HasNoNumber() {
  const testing::memory::Node* path = model().committed().Find(kLockPath);
  return path != nullptr && path->data != absl::StrCat(options_.permits);
}

// The lease that it goes on from has ended; or, for an upgrade, there was another writer.
bool LockWorld::MayNotGoUpOrDown(const Bid& bid, const absl::Status& status) {
  const Bid* const from = bid.from.get();
  if (from == nullptr) return false;
  if (absl::IsFailedPrecondition(status)) {
    // A downgrade meets one only if it is a stranger's, with a lower number.
    const bool may_meet =
        bid.candidacy.mode != queue::machine::Mode::kShared || history_.strangers();
    return may_meet && history_.WritersSince(bid.since) > 1;
  }
  return absl::IsAborted(status) &&
         (from->lease->state() == Lease::State::kLost || history_.nodes().count(from->node) == 0);
}

void LockWorld::CloseClient(uint32_t client) {
  const std::shared_ptr<internal::ClientCore> core = processes_[current_[client]].core;
  for (const auto& bid : Live()) {
    if (bid->core != core) continue;
    bid->closed = true;
    if (bid->lease.has_value()) bid->gave_back = bid->believes();
  }
  if (elects()) election_->NoteClose(core);
  if (writes()) register_->NoteClose(core);
  if (shards_ != nullptr) shards_->NoteClose(core);
  core->Close(std::make_shared<base::OneShot<absl::Status>>());
  current_[client] = OpenClient();
}

}  // namespace zkrecipes::schedules

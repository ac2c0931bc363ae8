// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/acquire/contender_runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/random.h"

namespace zkrecipes::queue::acquire {
namespace {

namespace action = machine::action;
namespace event = machine::event;
using machine::Outcome;

// A contender watches its own node only after this fraction of the session timeout, so that a short
// critical section does not pay for that watch.
constexpr int kOwnWatchFraction = 10;
// How rarely a waiter checks whether its predecessor is still there: see StartCheckTimer. Spread
// out by OnAround, so that the waiters of a long queue do not check all at once.
constexpr int kTimeoutsPerCheck = 4;

// FailedPrecondition: the margins of this session's leases let none of them be proven.
absl::Status UnprovenStatus(const std::string& path, const session::Session& session) {
  const absl::Duration timeout = session.timeout();
  const auto& margins = session.margins();
  const auto text = [](absl::Duration d) {
    return absl::FormatDuration(absl::Trunc(d, absl::Milliseconds(1)));
  };
  return absl::FailedPreconditionError(absl::StrCat(
      "acquire ", path, ": no lease can be proven with a session timeout of ", text(timeout),
      ", as the servers grant it, and a ping gap of ", text(margins.PingGap(timeout)),
      ": a proof would leave ", text(std::max(margins.LeftOfAProof(timeout), absl::ZeroDuration())),
      ", and beats need ", text(margins.LeastLeft(timeout)),
      ". Ask for a longer timeout, set LeaseOptions::ping_gap if it is known to be less, or use a "
      "lock delay (docs/lease.md)"));
}

}  // namespace

ContenderRunner::ContenderRunner(std::shared_ptr<Acquisition> acquisition,
                                 machine::Candidacy&& candidacy)
    : core_(acquisition->core().get()),
      acquisition_(std::move(acquisition)),
      contender_(std::move(candidacy)),
      wait_(*acquisition_, contender_) {
  if (this->candidacy().permits > 0) {
    front_watches_ = std::make_unique<std::map<std::string, session::machine::WatcherId>>();
  }
}

void ContenderRunner::Start(session::Session* session) {
  if (acquisition_->queue()->has_listeners()) {
    notifier_ = std::make_unique<lease::Notifier>(*core_, *acquisition_);
  }
  absl::StatusOr<Room> room = absl::FailedPreconditionError("the client is closed");
  if (session != nullptr) {
    room = Room::Find(core_->sessions(), candidacy(), acquisition_->path());
  }
  if (!room.ok()) {
    acquisition_->Settle(room.status());
    if (notifier_) notifier_->OnMaybeRefused();
    return;
  }
  room_ = *std::move(room);
  session_ = room_.session;
  acquisition_->set_reach(session_->reach());
  self_ = shared_from_this();
  wait_.Begin(session_, self_);
  session_->Join(this);  // may end this contender at once
}

// ---- what its user asks for ---------------------------------------------------------------------

void ContenderRunner::Leave(Waiter waiter) {
  core_->Post([self = shared_from_this(), waiter = std::move(waiter)](session::Session*) mutable {
    if (waiter != nullptr) self->releases_.push_back(std::move(waiter));
    if (self->session_ != nullptr) return self->On(event::Leave{});
    // It has ended by itself, perhaps before the caller that gave up had kept its answer.
    if (self->notifier_) self->notifier_->OnMaybeRefused();
    self->AnswerReleases(self->held_ ? self->held_->state().left() : absl::OkStatus());
  });
}

void ContenderRunner::OnFollowedEnded() {
  core_->Post([self = shared_from_this()](session::Session*) {
    self->On(event::Leave{Outcome::kFollowedLost});
  });
}

void ContenderRunner::Verify(Waiter waiter) {
  core_->Post([self = shared_from_this(), waiter = std::move(waiter)](session::Session*) mutable {
    self->held_->Verify(std::move(waiter));
  });
}

// ---- the session's events -----------------------------------------------------------------------
// Any event may finish the contender and destroy this object: keep a reference to continue.

void ContenderRunner::OnConnected() {
  const std::shared_ptr<ContenderRunner> alive = self_;
  // First in the queue, it would stand in the others' way for ever. Asked at each connection, since
  // another server may grant a shorter timeout.
  if (!held_ && NeverProven()) GiveUp(UnprovenStatus(acquisition_->path(), *session_));
  if (self_ == nullptr) return;  // it had no node yet
  retry_pauses_.Reset();
  session_->ReadEpoch();  // if it could not be read before
  const uint64_t high = core_->reactor()->Random();
  On(event::Connected{session_->id(), machine::ToGuid(high, core_->reactor()->Random())});
  if (notifier_) notifier_->CheckSuspicion();
  if (held_) held_->OnConnected();
}

void ContenderRunner::OnDisconnected() {
  if (notifier_) notifier_->CheckSuspicion();
  On(event::Disconnected{});
}
void ContenderRunner::OnSuspicionCheck() {
  if (notifier_) notifier_->CheckSuspicion();
}
void ContenderRunner::OnExpired() { On(event::Expired{session_->end_confirmed()}); }
void ContenderRunner::OnProven() {
  // Another's callback may have kept this thread until the proof was over. The next is told, too.
  if (Proven()) On(event::Proven{});
}
void ContenderRunner::OnLapsed() {
  if (held_ && held_->state().terms().lapses) On(event::Lapsed{});
}

void ContenderRunner::OnValidityEnded() {
  if (held_) held_->state().AnnounceIfEnded();
}

void ContenderRunner::OnNodeChecked(bool there) {
  wait_.OnNodeChecked(there);
  session_->NeedChanged(this);
}

// One that holds has an epoch.
void ContenderRunner::OnEpochUnreadable(const absl::Status& why) {
  if (!held_) GiveUp(WithoutEpoch(why));
}

void ContenderRunner::GiveUp(const absl::Status& why) {
  const std::shared_ptr<ContenderRunner> alive = self_;
  acquisition_->Settle(why);
  On(event::Leave{});
}

absl::Status ContenderRunner::WithoutEpoch(const absl::Status& why) const {
  return absl::Status(why.code(),
                      absl::StrCat("acquire ", acquisition_->path(), ": ", why.message()));
}

void ContenderRunner::OnFailed(const absl::Status& why) {
  const std::shared_ptr<ContenderRunner> alive = self_;
  acquisition_->Settle(why);
  // Without a session nothing can be deleted: a node goes once the ensemble has expired it.
  On(event::Expired{});
  On(event::Leave{});
}

void ContenderRunner::OnClosing() {
  const std::shared_ptr<ContenderRunner> alive = self_;
  acquisition_->Settle(absl::FailedPreconditionError("the client is closed"));
  // In lock-delay mode a lease that had lapsed does not count as released: the next holder waits.
  if (held_) {
    const std::optional<LeaseEnd> before = held_->state().End(LeaseEnd::kClientClosed);
    if (before.has_value()) On(event::Lapsed{*before});
  }
  On(event::Leave{});
}

// ---- what it wants of its session ---------------------------------------------------------------

// A session is proven while a lease is held, and from shortly before a grant. Not while the
// contender waits far from its turn: then the session sends reads, which check how near that is.
session::machine::Need ContenderRunner::need() const {
  if (!held_) {
    using State = machine::Contender::State;
    const bool leaves = contender_.state() == State::kLeaving;
    return {.proof = !leaves && !wait_.FarFromTurn(),
            .first = contender_.state() == State::kProving};
  }
  session::machine::Need need{.proof = true, .lease = true};
  const std::optional<absl::Duration> limit = held_->state().terms().delay_lifetime;
  if (limit.has_value()) need.delay_lifetime = *limit;
  return need;
}

// Whether its lease needs a proof that cannot be had with the timeout that was granted.
bool ContenderRunner::NeverProven() const {
  const bool lapses = acquisition_->options().ends_at == LeaseOptions::EndsAt::kDeadline;
  const bool needs_proof = !candidacy().rests_on_delay() && (lapses || candidacy().wait_for_proof);
  return needs_proof && !session_->margins().CanProve(session_->timeout());
}

bool ContenderRunner::Proven() const {
  if (session_ == nullptr) return false;
  session::SessionValidity* const validity = session_->validity().get();
  const base::BootTime now = core_->Now();
  return validity != nullptr && now < validity->ProvenUntil(now);
}

// ---- the contender ------------------------------------------------------------------------------

void ContenderRunner::On(machine::Event&& event) {
  const std::shared_ptr<ContenderRunner> alive = self_;
  if (alive == nullptr) return;  // finished
  const auto before = contender_.state();
  const bool decided = contender_.end().outcome != Outcome::kNone;
  // A lease that was released in time is not lost, whatever comes before the task of its Leave.
  if (held_ && held_->state().released()) CarryOut(contender_.On(event::Leave{}));
  CarryOut(contender_.On(std::move(event)));
  wait_.Update(before);
  // As soon as it is decided: what is left to do on the server goes on behind the answer, and may
  // take as long as the session lives, as without a connection or a permission.
  if (!decided && contender_.end().outcome != Outcome::kNone) AnswerUser();
  if (session_ != nullptr) session_->NeedChanged(this);  // null: finished
  if (notifier_) notifier_->OnEvent(contender_);
}

void ContenderRunner::CarryOut(machine::Actions&& actions) {
  for (machine::Action& action : actions) {
    std::visit([this](auto& a) { Act(std::move(a)); }, action);
  }
}

// ---- the contender's actions --------------------------------------------------------------------

void ContenderRunner::Act(action::Send&& send) {
  if (auto* watch = std::get_if<zk::WatchNode>(&send.request)) {
    return SendWatch(send.op, {std::move(watch->path)});
  }
  if (auto* watch = std::get_if<zk::WatchExists>(&send.request)) {
    return SendWatch(send.op, {std::move(watch->path), zk::WatchKind::kExists});
  }
  session_->Send(send.request, [self = self_, op = send.op](zk::Reply&& reply) {
    if (self->candidacy().try_only && !reply.children.empty()) {
      self->wait_.OnListed(reply.children);
    }
    self->OnReply(op, std::move(reply));
  });
}

// Whether the session is proven is asked only if what follows depends on it: the grant, or the
// reason of a loss.
void ContenderRunner::OnReply(machine::OpId op, zk::Reply&& reply) {
  const bool matters = candidacy().wait_for_proof || held_.has_value();
  On(event::Replied{op, std::move(reply), matters && Proven()});
}

void ContenderRunner::SendWatch(machine::OpId op, zk::Watch watch) {
  session::machine::WatcherId& watcher = WatcherOf(watch.path);
  watcher = session_->Watch(
      std::move(watch),
      [self = self_, op](zk::Reply&& reply) { self->OnReply(op, std::move(reply)); },
      [self = self_](const std::string& fired, zk::WatchEvent what) {
        self->On(event::WatchFired{fired, what, self->Proven()});
      });
}

session::machine::WatcherId& ContenderRunner::WatcherOf(const std::string& path) {
  if (path == contender_.node()) return own_watch_;
  return front_watches_ != nullptr ? (*front_watches_)[path] : predecessor_watch_;
}

void ContenderRunner::Act(const action::Unwatch& unwatch) {
  session_->Unwatch({unwatch.path, unwatch.kind}, WatcherOf(unwatch.path));
  if (front_watches_ != nullptr) front_watches_->erase(unwatch.path);
}

// The timer does not keep the contender alive, but its memory.
zk::Reactor::TimerId ContenderRunner::OnAfter(absl::Duration pause, machine::Event event) {
  zk::Reactor& reactor = *core_->reactor();
  return reactor.CallAt(reactor.Now() + pause,
                        [weak = weak_from_this(), event = std::move(event)]() mutable {
                          if (const auto self = weak.lock()) self->On(std::move(event));
                        });
}

zk::Reactor::TimerId ContenderRunner::OnAround(absl::Duration pause, machine::Event event) {
  return OnAfter(base::Jittered(pause, core_->reactor()->Random()), std::move(event));
}

void ContenderRunner::Act(const action::StartRetryTimer&) {
  zk::Reactor& reactor = *core_->reactor();
  OnAfter(retry_pauses_.Next(reactor.Now(), session_->timeout(), reactor.Random()),
          event::RetryDue{});
}

// Every contender has this timer, so it keeps no more than a pointer.
void ContenderRunner::Act(const action::StartOwnWatchTimer&) {
  zk::Reactor& reactor = *core_->reactor();
  const absl::Duration pause =
      base::Jittered(session_->timeout() / kOwnWatchFraction, reactor.Random());
  own_watch_timer_ = reactor.CallAt(reactor.Now() + pause, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->On(event::OwnWatchDue{});
  });
}

void ContenderRunner::Act(const action::StartCheckTimer& start) {
  core_->reactor()->Cancel(check_timer_);
  check_timer_ = OnAround(session_->timeout() * kTimeoutsPerCheck, event::CheckDue{start.op});
}

// Without jitter: the holder before relies on all of it. It counts from when any contender of this
// client, first in the queue, found that holder gone: calls that give up do not begin it anew.
void ContenderRunner::Act(action::StartDelayTimer&& start) {
  core_->reactor()->Cancel(delay_timer_);
  const base::BootTime now = core_->Now();
  const base::BootTime since = core_->known_paths().DelayBegan(
      candidacy().parent,
      {session_->line(), start.record_czxid, start.record_version, std::move(start.holder)}, now);
  delay_timer_ = OnAfter(since + candidacy().lock_delay - now, event::DelayOver{start.op});
}

// Once the user has the lease, it may be released or ask for its end at once, on any thread. So all
// that it needs is HeldLease's: only ForUser makes the user's Lease. What its release leads to
// comes to the reactor as a task of its own, behind all of this.
void ContenderRunner::Act(machine::Grant grant) {
  wait_.End();
  retry_pauses_.Reset();
  if (front_watches_ != nullptr) front_watches_->clear();
  room_.predecessor_watch = {};
  // Asked for before the contender's node was, on the same connection: so it is known, unless the
  // server did not say.
  const absl::StatusOr<int64_t>& epoch = session_->epoch();
  grant.epoch = epoch.value_or(0);
  held_.emplace(*core_->reactor(), *session_, acquisition_->path(),
                std::make_shared<internal::LeaseState>(acquisition_->core(), session_->validity(),
                                                       std::move(grant), weak_from_this(), Terms(),
                                                       session_->reach()),
                weak_from_this(), [this](machine::Event&& event) { On(std::move(event)); });
  if (notifier_) session_->WantSuspicionChecks(true);
  // A lease that nobody takes is destroyed here, which makes this contender leave: after a refusal,
  // and if the acquire was answered before.
  absl::StatusOr<Lease> lease = held_->ForUser(this);
  if (!epoch.ok()) lease = WithoutEpoch(epoch.status());
  const bool taken = acquisition_->Settle(std::move(lease));
  if (notifier_ && taken && epoch.ok()) notifier_->Granted(held_->state(), candidacy().acl);
}

internal::LeaseTerms ContenderRunner::Terms() const {
  const AcquireOptions& options = acquisition_->options();
  internal::LeaseTerms terms;
  terms.lapses = options.ends_at == LeaseOptions::EndsAt::kDeadline;
  if (candidacy().rests_on_delay()) {
    terms.delay_lifetime = session_->margins().DelayLifetime(candidacy().lock_delay);
  }
  terms.alive_within = options.alive_within;
  terms.hold_at_most = options.hold_at_most;
  return terms;
}

void ContenderRunner::Act(const action::LeaseLost& lost) {
  (void)held_->state().End(lost.why);
  if (notifier_) notifier_->Ended();
}

void ContenderRunner::Act(const action::LeaveRefused& refused) {
  // First: who is answered may ask for the lock again at once, behind this node.
  if (refused.code == zk::Code::kNoAuth) {
    core_->sessions().SetApart(candidacy().parent);
    session_->CannotLeave(this);
  }
  AnswerReleases(zk::ToStatus(refused.code, refused.what, refused.path));
}

void ContenderRunner::Act(const action::Finished& finished) {
  if (notifier_) notifier_->Ended();
  // Another thread may have released it just before the machine was told that it is lost.
  const bool lost = finished.outcome == Outcome::kLost && !(held_ && held_->state().released());
  // Of a lost lease Release says that it is lost.
  if (finished.unconfirmed && (!lost || session_->closing())) session_->NotConfirmed();
  absl::Status left;
  if (lost) {
    left = EndStatus(finished, acquisition_->path(), candidacy());
  } else if (finished.unconfirmed) {
    left = absl::DeadlineExceededError(
        absl::StrCat("release ", acquisition_->path(),
                     ": not confirmed before the session ended, with which the node goes"));
  }
  if (held_) held_->state().SetLeft(left);
  AnswerReleases(left);
  if (held_) held_->Finish();
  room_ = {};
  // Most critical sections, and most waits, end before these: they would keep this object's memory.
  for (const auto timer : {own_watch_timer_, check_timer_, delay_timer_})
    core_->reactor()->Cancel(timer);
  if (notifier_ && held_) session_->WantSuspicionChecks(false);
  std::exchange(session_, nullptr)->Part(this);
  self_ = nullptr;  // On holds another reference until it returns
}

// A try that was busy is answered once the holder's name is read; all others at once.
void ContenderRunner::AnswerUser() {
  const action::Finished& end = contender_.end();
  if (end.outcome == Outcome::kBusy && !acquisition_->settled()) {
    return wait_.AnswerBusy([this] {
      if (notifier_) notifier_->OnMaybeRefused();
    });
  }
  wait_.End();
  if (acquisition_->settled()) return;
  acquisition_->Settle(EndStatus(end, acquisition_->path(), candidacy()));
}

void ContenderRunner::AnswerReleases(const absl::Status& status) {
  for (Waiter& waiter : std::exchange(releases_, {})) std::move(waiter)(status);
}

}  // namespace zkrecipes::queue::acquire

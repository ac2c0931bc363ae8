// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/contender_runner.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/guid.h"
#include "lib/base/random.h"
#include "lib/queue/end_status.h"
#include "lib/zk/path.h"

namespace zkrecipes::internal {
namespace {

namespace action = queue::action;
namespace event = queue::event;
using queue::Outcome;

// A contender watches its own node only after this fraction of the session timeout, so that a short
// critical section does not pay for that watch.
constexpr int kOwnWatchFraction = 10;
// How rarely a waiter looks whether its blocker is still there: see StartLookTimer. Spread out by
// OnAround, so that the waiters of a long queue do not look all at once.
constexpr int kTimeoutsPerLook = 4;
// How often a lease is looked at for its listeners.
constexpr int kLooksPerTimeout = 8;
constexpr size_t kSuffixBytes = 11;  // "-2147483648"
// A wait that is about to time out looks who is in front this long before: a fraction of the
// timeout, so that few of the waits that are granted look in vain.
constexpr int kLookFraction = 5;
constexpr absl::Duration kLookAhead = absl::Seconds(1);

}  // namespace

ContenderRunner::ContenderRunner(std::shared_ptr<ClientCore> core,
                                 std::shared_ptr<Acquisition> acquisition)
    : core_(std::move(core)),
      acquisition_(std::move(acquisition)),
      contender_(acquisition_->candidacy()) {}

void ContenderRunner::Start(session::Session* session) {
  if (session == nullptr) {
    acquisition_->Settle(absl::FailedPreconditionError("the client is closed"));
    return;
  }
  session_ = session;
  if (!ReserveBudget()) return;
  self_ = shared_from_this();
  BeginTelling();
  StartTimeout();
  session_->Join(this);  // may end this contender at once
}

void ContenderRunner::StartTimeout() {
  if (acquisition_->deadline() == base::BootTime::InfiniteFuture()) return;
  if (acquisition_->candidacy().try_only) return StartLastTimer();
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
  using State = queue::Contender::State;
  const State state = contender_.state();
  const bool first = state == State::kReading || state == State::kDelaying ||
                     state == State::kMarking || state == State::kProving;
  if (first) return acquisition_->Know({});
  const bool queued = state == State::kWatching || state == State::kListing;
  const bool in_time = core_->Now() < acquisition_->deadline();
  if (!queued || !in_time || !session_->connected()) return;
  const std::string& parent = acquisition_->candidacy().parent;
  session_->Send(zk::GetChildren{parent}, [self = self_](const zk::Reply& reply) {
    const bool queued = self->session_ != nullptr && !self->contender_.node().empty();
    if (reply.code != zk::Code::kOk || !queued) return;
    const queue::Rivals rivals = self->RivalsIn(reply.children);
    self->acquisition_->Know(rivals);
    if (self->acquisition_->settled()) return;
    queue::ReadHeadOf(*self->session_, self->acquisition_->candidacy().parent, rivals,
                      [self](queue::Rivals known) { self->acquisition_->Know(std::move(known)); });
  });
}

queue::Rivals ContenderRunner::RivalsIn(const std::vector<std::string>& children) const {
  return queue::RivalsIn(children, zk::NodeName(contender_.node()),
                         acquisition_->candidacy().follows.node);
}

void ContenderRunner::BeginTelling() {
  Telling::Listeners listeners;
  for (const auto& listener : {acquisition_->options().listener, core_->options().listener}) {
    if (listener != nullptr) listeners.push_back(listener);
  }
  if (listeners.empty()) return;
  telling_ = std::make_unique<Telling>(core_, acquisition_->path(), std::move(listeners));
}

bool ContenderRunner::ReserveBudget() {
  const queue::Candidacy& candidacy = acquisition_->candidacy();
  const size_t bytes = candidacy.parent.size() + 1 + kSuffixBytes +
                       queue::NodePrefix(candidacy.dialect, candidacy.named(),
                                         "00000000-0000-0000-0000-000000000000")
                           .size();
  node_bytes_ = session_->ephemeral_budget().Reserve(bytes);
  own_watch_bytes_ = session_->watch_budget().Reserve(bytes + session::PathBudget::kPerWatch);
  blocker_watch_bytes_ = session_->watch_budget().Reserve(
      candidacy.parent.size() + 1 + queue::kLongestNodeName + session::PathBudget::kPerWatch);
  if (node_bytes_ && own_watch_bytes_ && blocker_watch_bytes_) return true;
  session_ = nullptr;
  acquisition_->Settle(absl::ResourceExhaustedError(
      absl::StrCat("acquire ", acquisition_->path(),
                   ": this client has too many contenders for one ZooKeeper session (",
                   session::PathBudget::kLimit,
                   " bytes of node or watch paths): use another client, or shorter paths")));
  return false;
}

void ContenderRunner::Leave(Waiter waiter) {
  core_->Post([self = shared_from_this(), waiter = std::move(waiter)](session::Session*) mutable {
    if (waiter != nullptr) self->releases_.push_back(std::move(waiter));
    if (self->session_ == nullptr) return Answer(self->releases_, absl::OkStatus());
    self->On(event::Leave{});
  });
}

void ContenderRunner::Verify(Waiter waiter) {
  core_->Post([self = shared_from_this(), waiter = std::move(waiter)](session::Session*) mutable {
    self->verifications_.push_back(std::move(waiter));
    if (self->lease_ == nullptr) {
      return Answer(self->verifications_, self->LeaseIsOver());
    }
    self->AskVerdict();
  });
}

// Without a connection: once it is back. One question at a time; a caller that comes meanwhile waits
// for the next one, since only what was asked after it came can answer it.
void ContenderRunner::AskVerdict() {
  if (verifications_.empty() || !verifying_.empty()) return;
  if (lease_ == nullptr || !session_->connected()) return;
  verifying_.swap(verifications_);
  queue::VerifyNode(*session_, contender_.node(), lease_->node_czxid(),
                    [self = self_](queue::Verdict verdict) { self->OnVerdict(verdict); });
}

absl::Status ContenderRunner::VerifyStatus(absl::StatusCode code, const char* why) const {
  return absl::Status(code, absl::StrCat("verify ", acquisition_->path(), ": ", why));
}

absl::Status ContenderRunner::LeaseIsOver() const {
  return VerifyStatus(absl::StatusCode::kAborted, "the lease is over");
}

void ContenderRunner::OnVerdict(queue::Verdict verdict) {
  if (lease_ == nullptr) return;  // answered
  switch (verdict) {
    case queue::Verdict::kThere:
      Answer(verifying_, absl::OkStatus());
      break;
    case queue::Verdict::kGone:
      Answer(verifying_, VerifyStatus(absl::StatusCode::kAborted, "its node is gone"));
      return On(event::NodeGone{});
    case queue::Verdict::kUnknown:
      if (!session_->connected()) {  // asked again by OnConnected
        std::move(verifying_.begin(), verifying_.end(), std::back_inserter(verifications_));
        return verifying_.clear();
      }
      Answer(verifying_,
             VerifyStatus(absl::StatusCode::kUnavailable, "the ensemble did not answer"));
      break;
  }
  AskVerdict();
}

bool ContenderRunner::Proven() const {
  const auto validity = session_ == nullptr ? nullptr : session_->validity();
  const base::BootTime now = core_->Now();
  return validity != nullptr && now < validity->DeadlineAt(now);
}

// ---- the session's events ------------------------------------------------------------------------
// Any event may finish the contender and destroy this object: keep a reference to continue.

void ContenderRunner::OnConnected() {
  const std::shared_ptr<ContenderRunner> alive = self_;
  retry_pauses_.Reset();
  const uint64_t high = core_->reactor()->Random();
  On(event::Connected{session_->id(), base::ToGuid(high, core_->reactor()->Random())});
  if (telling_ != nullptr) telling_->LookAtLease();
  AskVerdict();
}

void ContenderRunner::OnValidityEnded(bool expired) {
  if (lease_ == nullptr) return;
  lease_->OnValidityEnded(expired ? LeaseEnd::kSessionExpired : LeaseEnd::kDeadlinePassed);
}

void ContenderRunner::OnDisconnected() {
  if (telling_ != nullptr) telling_->LookAtLease();
  On(event::Disconnected{});
}
void ContenderRunner::OnExpired() { On(event::Expired{}); }
void ContenderRunner::OnProven() { On(event::Proven{}); }
void ContenderRunner::OnLapsed() {
  if (lapses()) On(event::Lapsed{});
}

void ContenderRunner::OnFailed(const absl::Status& why) {
  const std::shared_ptr<ContenderRunner> alive = self_;
  acquisition_->Settle(why);
  // Without a session nothing is left on the server, so leaving finishes at once.
  On(event::Expired{});
  On(event::Leave{});
}

void ContenderRunner::OnClosing() {
  const std::shared_ptr<ContenderRunner> alive = self_;
  acquisition_->Settle(absl::FailedPreconditionError("the client is closed"));
  // In lock-delay mode a lease that had lapsed does not count as released: the next holder waits.
  if (lease_ != nullptr && lease_->OnClosed() == Lease::State::kLost) On(event::Lapsed{});
  On(event::Leave{});
}

void ContenderRunner::On(const queue::Event& event) {
  const std::shared_ptr<ContenderRunner> alive = self_;
  if (alive == nullptr) return;  // finished
  for (const queue::Action& action : contender_.On(event)) {
    std::visit([this](const auto& a) { Act(a); }, action);
  }
  acquisition_->set_in_front(contender_.lower().size());
  if (telling_ != nullptr) telling_->Look(contender_);
}

// ---- the contender's actions ---------------------------------------------------------------------

void ContenderRunner::Act(const action::Send& send) {
  if (const auto* watch = std::get_if<zk::WatchNode>(&send.request)) {
    return SendWatch(send.op, watch->path);
  }
  session_->Send(send.request, [self = self_, op = send.op](const zk::Reply& reply) {
    if (self->acquisition_->candidacy().try_only && !reply.children.empty()) {
      self->rivals_ = self->RivalsIn(reply.children);
    }
    self->On(event::Replied{op, reply, self->Proven()});
  });
}

void ContenderRunner::SendWatch(queue::OpId op, const std::string& path) {
  watches_[path] = session_->Watch(
      {path},
      [self = self_, op](const zk::Reply& reply) {
        self->On(event::Replied{op, reply, self->Proven()});
      },
      [self = self_, path](zk::WatchEvent what) {
        self->On(event::WatchFired{path, what, self->Proven()});
      });
}

void ContenderRunner::Act(const action::Unwatch& unwatch) {
  const auto it = watches_.find(unwatch.path);
  if (it == watches_.end()) return;
  session_->Unwatch(it->second);
  watches_.erase(it);
}

void ContenderRunner::OnAfter(absl::Duration pause, queue::Event event) {
  zk::Reactor& reactor = *core_->reactor();
  reactor.CallAt(reactor.Now() + pause, [weak = weak_from_this(), event = std::move(event)] {
    if (const auto self = weak.lock()) self->On(event);
  });
}

void ContenderRunner::OnAround(absl::Duration pause, queue::Event event) {
  OnAfter(base::Jittered(pause, core_->reactor()->Random()), std::move(event));
}

void ContenderRunner::Act(const action::StartRetryTimer&) {
  zk::Reactor& reactor = *core_->reactor();
  OnAfter(retry_pauses_.Next(reactor.Now(), session_->timeout(), reactor.Random()),
          event::RetryDue{});
}

void ContenderRunner::Act(const action::StartOwnWatchTimer&) {
  OnAround(session_->timeout() / kOwnWatchFraction, event::OwnWatchDue{});
}

void ContenderRunner::Act(const action::StartLookTimer& start) {
  OnAround(session_->timeout() * kTimeoutsPerLook, event::LookDue{start.op});
}

// Without jitter: the holder before relies on all of it.
void ContenderRunner::Act(const action::StartDelayTimer& start) {
  OnAfter(acquisition_->candidacy().lock_delay, event::DelayOver{start.op});
}

bool ContenderRunner::lapses() const {
  return acquisition_->options().ends_at == LeaseOptions::EndsAt::kDeadline;
}

// A lease may end before its session's validity does, by its own terms or in lock-delay mode.
// Heartbeat announces only the latter, so this timer announces the former. It asks the lease.
void ContenderRunner::CheckEnd() {
  if (lease_ == nullptr) return;
  const Lease::State state = lease_->state();
  if (state == Lease::State::kReleased) return;  // leaving, and has no deadline any more
  if (state == Lease::State::kLost) {
    // All leases that end now, and this one's timer is the first to say so, end at the same time.
    if (!lease_->stop_asked()) session_->AnnounceEnded(/*expired=*/false);
    return On(event::Lapsed{});
  }
  const base::BootTime end = lease_->ends_by();
  if (end == base::BootTime::InfiniteFuture()) return;
  core_->reactor()->CallAt(end, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->CheckEnd();
  });
}

void ContenderRunner::LookAtLease() {
  if (lease_ == nullptr) return;
  telling_->LookAtLease();
  zk::Reactor& reactor = *core_->reactor();
  reactor.CallAt(reactor.Now() + session_->timeout() / kLooksPerTimeout, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->LookAtLease();
  });
}

void ContenderRunner::Act(const queue::Grant& grant) {
  CancelTimeout();
  retry_pauses_.Reset();
  blocker_watch_bytes_ = {};
  lease_ = std::make_shared<LeaseState>(core_, session_->validity(lapses()), grant,
                                        weak_from_this(), Terms());
  CheckEnd();
  // If it was settled before, the lease is dropped here, which makes this contender leave.
  const bool heard = acquisition_->Settle(LeaseMaker::Make(lease_));
  if (telling_ == nullptr || !heard) return;
  telling_->Granted(lease_);
  LookAtLease();
  const AcquireOptions& options = acquisition_->options();
  if (options.end_when_over || options.hold_at_most == absl::InfiniteDuration()) return;
  core_->reactor()->CallAt(core_->Now() + options.hold_at_most, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->telling_->HeldTooLong();
  });
}

LeaseTerms ContenderRunner::Terms() const {
  const queue::Candidacy& candidacy = acquisition_->candidacy();
  const AcquireOptions& options = acquisition_->options();
  LeaseTerms terms;
  // After a reader nothing waits, so a delay makes no promise to it.
  if (candidacy.delays() && candidacy.mode != queue::Mode::kShared) {
    terms.lifetime = session_->margins().LifetimeUnderDelay(candidacy.lock_delay);
  }
  terms.alive_within = options.alive_within;
  if (options.end_when_over) terms.hold_at_most = options.hold_at_most;
  return terms;
}

void ContenderRunner::Act(const action::LeaseLost& lost) {
  lease_->OnLost(lost.why);
  if (telling_ != nullptr) telling_->Ended();
}

void ContenderRunner::Act(const action::LeaveRefused& refused) {
  Answer(releases_, zk::ToStatus(refused.code, "delete", contender_.node()));
}

void ContenderRunner::Act(const action::Finished& finished) {
  if (telling_ != nullptr) telling_->Ended();
  absl::Status why;
  if (finished.outcome == Outcome::kBusy && !acquisition_->settled()) {
    AnswerBusy();
  } else {
    CancelTimeout();
    why = queue::EndStatus(finished, acquisition_->path(), acquisition_->candidacy().parent);
    acquisition_->Settle(why);
  }
  Answer(releases_, finished.outcome == Outcome::kLost ? why : absl::OkStatus());
  for (auto* waiting : {&verifying_, &verifications_}) {
    Answer(*waiting, LeaseIsOver());
  }
  node_bytes_ = {};
  own_watch_bytes_ = {};
  blocker_watch_bytes_ = {};
  lease_ = nullptr;
  std::exchange(session_, nullptr)->Part(this);
  self_ = nullptr;  // On holds another reference until it returns
}

// The contender has finished: only its user waits, for the holder's name or for the deadline.
void ContenderRunner::AnswerBusy() {
  acquisition_->KnowBusy(rivals_);
  queue::ReadHeadOf(*session_, acquisition_->candidacy().parent, rivals_,
                    [self = shared_from_this()](const queue::Rivals& known) {
                      self->CancelTimeout();
                      const std::string& path = self->acquisition_->path();
                      self->acquisition_->Settle(queue::BusyStatus(path, known));
                    });
}

void ContenderRunner::CancelTimeout() {
  if (timeout_ != 0) core_->reactor()->Cancel(std::exchange(timeout_, 0));
}

void ContenderRunner::Answer(std::vector<Waiter>& waiting, const absl::Status& status) {
  for (Waiter& waiter : std::exchange(waiting, {})) std::move(waiter)(status);
}

}  // namespace zkrecipes::internal

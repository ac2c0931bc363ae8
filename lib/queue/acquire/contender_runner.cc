// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/acquire/contender_runner.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/random.h"
#include "lib/queue/acquire/end_status.h"
#include "lib/session/client/client_options.h"

namespace zkrecipes::queue::acquire {
namespace {

namespace action = machine::action;
namespace event = machine::event;
using machine::Outcome;

// A contender watches its own node only after this fraction of the session timeout, so that a short
// critical section does not pay for that watch.
constexpr int kOwnWatchFraction = 10;
// How rarely a waiter looks whether its blocker is still there: see StartLookTimer. Spread out by
// OnAround, so that the waiters of a long queue do not look all at once.
constexpr int kTimeoutsPerLook = 4;

}  // namespace

ContenderRunner::ContenderRunner(std::shared_ptr<internal::ClientCore> core,
                                 std::shared_ptr<Acquisition> acquisition,
                                 machine::Candidacy&& candidacy)
    : core_(std::move(core)),
      acquisition_(std::move(acquisition)),
      contender_(std::move(candidacy)) {}

void ContenderRunner::Start(session::Session* session) {
  if (session == nullptr) {
    acquisition_->Settle(absl::FailedPreconditionError("the client is closed"));
    return;
  }
  if (acquisition_->queue().has_listeners()) telling_.emplace(*core_, *acquisition_);
  if (!FindRoom()) {
    if (telling_) telling_->LookAtRefusal();
    return;
  }
  self_ = shared_from_this();
  StartTimeout();
  session_->Join(this);  // may end this contender at once
}

// In the session of the lease that it follows, if it follows one: the two must end together.
bool ContenderRunner::FindRoom() {
  const machine::Candidacy& candidacy = contender_.candidacy();
  const size_t bytes =
      candidacy.parent.size() + 1 + machine::NodeBytes(candidacy.dialect, candidacy.named());
  const size_t own_watch = bytes + session::PathBudget::kPerWatch;
  const size_t blocker_watch =
      candidacy.parent.size() + 1 + machine::kLongestNodeName + session::PathBudget::kPerWatch;
  session::client::Sessions& sessions = core_->sessions();
  const bool follows = !candidacy.follows.node.empty();
  if (follows) session_ = sessions.Of(candidacy.follows.session);
  if (session_ == nullptr) session_ = sessions.WithRoom(bytes, own_watch + blocker_watch);
  if (session_ != nullptr) {
    node_bytes_ = session_->ephemeral_budget().Reserve(bytes);
    own_watch_bytes_ = session_->watch_budget().Reserve(own_watch);
    blocker_watch_bytes_ = session_->watch_budget().Reserve(blocker_watch);
    if (node_bytes_ && own_watch_bytes_ && blocker_watch_bytes_) return true;
  }
  session_ = nullptr;
  acquisition_->Settle(absl::ResourceExhaustedError(absl::StrCat(
      "acquire ", acquisition_->path(), ": this client has too many contenders",
      follows ? " in the session of the lease to go on from" : "", " (",
      session::PathBudget::kLimit, " bytes of node or watch paths in ",
      follows ? "it" : absl::StrCat("each of ", session::client::Sessions::kMost, " sessions"),
      "): use another client, or shorter paths")));
  return false;
}

// ---- the session's events -----------------------------------------------------------------------
// Any event may finish the contender and destroy this object: keep a reference to continue.

void ContenderRunner::OnConnected() {
  const std::shared_ptr<ContenderRunner> alive = self_;
  retry_pauses_.Reset();
  session_->ReadEpoch();  // if it could not be read before
  const uint64_t high = core_->reactor()->Random();
  On(event::Connected{session_->id(), machine::ToGuid(high, core_->reactor()->Random())});
  if (telling_) telling_->LookAtLease();
  AskVerdict();
}

void ContenderRunner::OnDisconnected() {
  if (telling_) telling_->LookAtLease();
  On(event::Disconnected{});
}
void ContenderRunner::OnSuspicionCheck() {
  if (telling_) telling_->LookAtLease();
}
void ContenderRunner::OnExpired() { On(event::Expired{}); }
void ContenderRunner::OnProven() { On(event::Proven{}); }
void ContenderRunner::OnLapsed() {
  if (Terms().lapses) On(event::Lapsed{});
}

// One that holds has an epoch.
void ContenderRunner::OnEpochUnreadable(const absl::Status& why) {
  if (lease_ != nullptr) return;
  const std::shared_ptr<ContenderRunner> alive = self_;
  acquisition_->Settle(WithoutEpoch(why));
  On(event::Leave{});
}

absl::Status ContenderRunner::WithoutEpoch(const absl::Status& why) const {
  return absl::Status(why.code(),
                      absl::StrCat("acquire ", acquisition_->path(), ": ", why.message()));
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
  if (lease_ != nullptr) {
    const std::optional<LeaseEnd> before = lease_->End(LeaseEnd::kClientClosed);
    if (before.has_value() && *before != LeaseEnd::kReleased) On(event::Lapsed{*before});
  }
  On(event::Leave{});
}

void ContenderRunner::On(machine::Event&& event) {
  const std::shared_ptr<ContenderRunner> alive = self_;
  if (alive == nullptr) return;  // finished
  const auto before = contender_.state();
  for (machine::Action& action : contender_.On(std::move(event))) {
    std::visit([this](auto& a) { Act(std::move(a)); }, action);
  }
  const auto in_front = contender_.lower().size();
  acquisition_->set_in_front(in_front);
  const bool waits = contender_.state() == machine::Contender::State::kWatching;
  if (waits && before != contender_.state()) nearness_ = machine::Nearness(in_front);
  UpdateNeed();
  if (telling_) telling_->Look(contender_);
}

// ---- the contender's actions --------------------------------------------------------------------

void ContenderRunner::Act(action::Send&& send) {
  if (auto* watch = std::get_if<zk::WatchNode>(&send.request)) {
    return SendWatch(send.op, std::move(watch->path));
  }
  session_->Send(send.request, [self = self_, op = send.op](zk::Reply&& reply) {
    if (self->candidacy().try_only && !reply.children.empty()) {
      self->rivals_ = std::make_unique<listing::Rivals>(self->RivalsIn(reply.children));
    }
    self->OnReply(op, std::move(reply));
  });
}

// Whether the session is proven is asked only if what follows depends on it: the grant, or the
// reason of a loss.
void ContenderRunner::OnReply(machine::OpId op, zk::Reply&& reply) {
  const bool matters = candidacy().wait_for_proof || lease_ != nullptr;
  On(event::Replied{op, std::move(reply), matters && Proven()});
}

void ContenderRunner::SendWatch(machine::OpId op, std::string path) {
  session::machine::WatcherId& watcher = WatcherOf(path);
  watcher = session_->Watch(
      {std::move(path)},
      [self = self_, op](zk::Reply&& reply) { self->OnReply(op, std::move(reply)); },
      [self = self_](const std::string& fired, zk::WatchEvent what) {
        self->On(event::WatchFired{fired, what, self->Proven()});
      });
}

session::machine::WatcherId& ContenderRunner::WatcherOf(const std::string& path) {
  return path == contender_.node() ? own_watch_ : blocker_watch_;
}

void ContenderRunner::Act(const action::Unwatch& unwatch) {
  session_->Unwatch({unwatch.path}, WatcherOf(unwatch.path));
}

// The timer keeps the one event, and not a machine::Event, in which each would take as much as the
// largest.
template <typename E>
zk::Reactor::TimerId ContenderRunner::OnAfter(absl::Duration pause, E event) {
  struct Due {
    void operator()() {
      if (const auto self = runner.lock()) self->On(event);
    }
    std::weak_ptr<ContenderRunner> runner;
    [[no_unique_address]] E event;  // most are empty: then no memory is needed
  };
  zk::Reactor& reactor = *core_->reactor();
  return reactor.CallAt(reactor.Now() + pause, Due{weak_from_this(), event});
}

template <typename E>
zk::Reactor::TimerId ContenderRunner::OnAround(absl::Duration pause, E event) {
  return OnAfter(base::Jittered(pause, core_->reactor()->Random()), event);
}

void ContenderRunner::Act(const action::StartRetryTimer&) {
  zk::Reactor& reactor = *core_->reactor();
  OnAfter(retry_pauses_.Next(reactor.Now(), session_->timeout(), reactor.Random()),
          event::RetryDue{});
}

void ContenderRunner::Act(const action::StartOwnWatchTimer&) {
  own_watch_timer_ = OnAround(session_->timeout() / kOwnWatchFraction, event::OwnWatchDue{});
}

void ContenderRunner::Act(const action::StartLookTimer& start) {
  core_->reactor()->Cancel(look_timer_);
  look_timer_ = OnAround(session_->timeout() * kTimeoutsPerLook, event::LookDue{start.op});
}

// Without jitter: the holder before relies on all of it.
void ContenderRunner::Act(const action::StartDelayTimer& start) {
  OnAfter(candidacy().lock_delay, event::DelayOver{start.op});
}

void ContenderRunner::Act(const action::LeaveRefused& refused) {
  Answer(releases_, zk::ToStatus(refused.code, "delete", contender_.node()));
}

void ContenderRunner::Act(const action::Finished& finished) {
  if (telling_) telling_->Ended();
  const bool lost = finished.outcome == Outcome::kLost;
  absl::Status why;
  if (finished.outcome == Outcome::kBusy && !acquisition_->settled()) {
    AnswerBusy();
  } else {
    CancelTimeout();
    if (lost || !acquisition_->settled()) {
      why = acquire::EndStatus(finished, acquisition_->path(), candidacy().parent);
      acquisition_->Settle(why);
    }
  }
  Answer(releases_, lost ? why : absl::OkStatus());
  for (auto* waiting : {&verifying_, &verifications_}) {
    if (!waiting->empty()) Answer(*waiting, LeaseIsOver());
  }
  node_bytes_ = {};
  own_watch_bytes_ = {};
  blocker_watch_bytes_ = {};
  lease_ = nullptr;
  // Most critical sections, and most waits, end before these: they would keep this object's memory.
  for (const auto timer : {end_timer_, own_watch_timer_, look_timer_}) {
    core_->reactor()->Cancel(timer);
  }
  if (telling_ && held_) session_->WantSuspicionChecks(false);
  std::exchange(session_, nullptr)->Part(this);
  self_ = nullptr;  // On holds another reference until it returns
}

}  // namespace zkrecipes::queue::acquire

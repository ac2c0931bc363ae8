// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/contender_runner.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/guid.h"
#include "lib/base/random.h"
#include "lib/queue/end_status.h"
#include "lib/queue/owner.h"
#include "lib/zk/path.h"

namespace zkrecipes::internal {
namespace {

namespace action = queue::action;
namespace event = queue::event;
using queue::Outcome;

// How many parts of the session timeout go by before a contender watches its own node: a short
// critical section pays nothing for that watch.
constexpr int kOwnWatchFraction = 10;
constexpr size_t kSuffixBytes = 11;  // "-2147483648"

queue::Dialect DialectOf(NameDialect dialect) {
  return dialect == NameDialect::kKazoo ? queue::Dialect::kKazoo : queue::Dialect::kCurator;
}

queue::ContenderSpec SpecOf(const ClientCore& core, const Candidacy& candidacy) {
  queue::ContenderSpec spec;
  spec.parent = core.name_space().ToServer(candidacy.path);
  spec.mode = candidacy.mode;
  spec.dialect = DialectOf(core.options().dialect);
  spec.follows = candidacy.follows;
  std::optional<int64_t> token;
  if (queue::TakesPlace(spec)) token = spec.follows.token;
  spec.data = candidacy.data;
  if (spec.data.empty()) {
    spec.data =
        queue::OwnerData(spec.dialect, spec.mode, queue::ThisOwner(core.options().owner_id), token);
  }
  spec.try_only = candidacy.try_only;
  spec.strict = candidacy.lock_delay > absl::ZeroDuration();
  spec.wait_for_proof = core.options().lease.wait_for_proof;
  return spec;
}

}  // namespace

ContenderRunner::ContenderRunner(std::shared_ptr<ClientCore> core,
                                 std::shared_ptr<Acquisition> acquisition)
    : core_(std::move(core)),
      acquisition_(std::move(acquisition)),
      server_path_(core_->name_space().ToServer(acquisition_->candidacy().path)),
      contender_(SpecOf(*core_, acquisition_->candidacy())) {}

void ContenderRunner::Start(session::Session* session) {
  if (session == nullptr) {
    acquisition_->Settle(absl::FailedPreconditionError("the client is closed"));
    return;
  }
  session_ = session;
  if (!ReserveBudget()) return;
  self_ = shared_from_this();
  if (acquisition_->deadline() < base::BootTime::InfiniteFuture()) {
    timeout_ = core_->reactor()->CallAt(acquisition_->deadline(), [self = self_] {
      self->timeout_ = 0;
      self->acquisition_->TimeOut();
    });
  }
  session_->Join(this);
  if (session_ != nullptr && session_->connected()) OnConnected();
}

bool ContenderRunner::ReserveBudget() {
  const size_t bytes =
      server_path_.size() + 1 + kSuffixBytes +
      queue::NodePrefix(DialectOf(core_->options().dialect), acquisition_->candidacy().mode,
                        "00000000-0000-0000-0000-000000000000")
          .size();
  node_bytes_ = session_->ephemeral_budget().Reserve(bytes);
  own_watch_bytes_ = session_->watch_budget().Reserve(bytes + session::PathBudget::kPerWatch);
  blocker_watch_bytes_ = session_->watch_budget().Reserve(bytes + session::PathBudget::kPerWatch);
  if (node_bytes_ && own_watch_bytes_ && blocker_watch_bytes_) return true;
  session_ = nullptr;
  acquisition_->Settle(absl::ResourceExhaustedError(
      absl::StrCat("acquire ", acquisition_->candidacy().path,
                   ": this client has too many contenders for one ZooKeeper session (",
                   session::PathBudget::kLimit,
                   " bytes of node or watch paths): use another client, or shorter "
                   "paths")));
  return false;
}

void ContenderRunner::Leave(Done done) {
  core_->Post([self = shared_from_this(), done = std::move(done)](session::Session*) {
    if (done != nullptr) self->releases_.push_back(done);
    if (self->session_ == nullptr) return Answer(self->releases_, absl::OkStatus());
    self->On(event::Leave{});
  });
}

void ContenderRunner::Verify(Done done) {
  core_->Post([self = shared_from_this(), done = std::move(done)](session::Session*) {
    self->verifications_.push_back(done);
    if (self->lease_ == nullptr) {
      return Answer(self->verifications_, absl::AbortedError("verify: the lease is over"));
    }
    self->AskVerdict();
  });
}

// Without a connection: once it is back.
void ContenderRunner::AskVerdict() {
  if (verifications_.empty() || verifying_ || lease_ == nullptr || !session_->connected()) return;
  verifying_ = true;
  queue::VerifyNode(*session_, contender_.node(), lease_->node_czxid(),
                    [self = self_](queue::Verdict verdict) { self->OnVerdict(verdict); });
}

void ContenderRunner::OnVerdict(queue::Verdict verdict) {
  verifying_ = false;
  if (lease_ == nullptr) return;  // answered
  switch (verdict) {
    case queue::Verdict::kThere:
      return Answer(verifications_, absl::OkStatus());
    case queue::Verdict::kGone:
      Answer(verifications_, absl::AbortedError(absl::StrCat(
                                 "verify ", acquisition_->candidacy().path, ": its node is gone")));
      return On(event::Lapsed{});
    case queue::Verdict::kUnknown:
      if (!session_->connected()) return;
      return Answer(verifications_,
                    absl::UnavailableError(absl::StrCat("verify ", acquisition_->candidacy().path,
                                                        ": the ensemble did not answer")));
  }
}

bool ContenderRunner::Proven() const {
  const auto validity = session_ == nullptr ? nullptr : session_->validity();
  return validity != nullptr && core_->Now() < validity->deadline();
}

// ---- the session's events ------------------------------------------------------------------------
// Whatever is fed may end the contender, and with it this object: who goes on holds it.

void ContenderRunner::OnConnected() {
  const std::shared_ptr<ContenderRunner> alive = self_;
  const uint64_t high = core_->reactor()->Random();
  On(event::Connected{session_->id(), base::ToGuid(high, core_->reactor()->Random())});
  AskVerdict();
}

void ContenderRunner::OnDisconnected() { On(event::Disconnected{}); }
void ContenderRunner::OnExpired() { On(event::Expired{}); }
void ContenderRunner::OnLapsed() { On(event::Lapsed{}); }
void ContenderRunner::OnProven() { On(event::Proven{}); }

void ContenderRunner::OnFailed(const absl::Status& why) {
  const std::shared_ptr<ContenderRunner> alive = self_;
  acquisition_->Settle(why);
  On(event::Expired{});
  On(event::Leave{});
}

void ContenderRunner::OnClosing() {
  const std::shared_ptr<ContenderRunner> alive = self_;
  acquisition_->Settle(absl::FailedPreconditionError("the client is closed"));
  // A strict lease that was over before is not given back: the next one waits.
  if (lease_ != nullptr && lease_->OnClosed() == Lease::State::kLost) On(event::Lapsed{});
  On(event::Leave{});
}

void ContenderRunner::On(const queue::Event& event) {
  const std::shared_ptr<ContenderRunner> alive = self_;
  if (alive == nullptr) return;  // finished
  for (const queue::Action& action : contender_.On(event)) {
    std::visit([this](const auto& a) { Act(a); }, action);
  }
}

// ---- the contender's actions ---------------------------------------------------------------------

void ContenderRunner::Act(const action::Send& send) {
  if (const auto* watch = std::get_if<zk::WatchNode>(&send.request)) {
    return SendWatch(send.op, watch->path);
  }
  session_->Send(send.request, [self = self_, op = send.op](const zk::Reply& reply) {
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
  reactor.CallAt(reactor.Now() + base::Jittered(pause, reactor.Random()),
                 [weak = weak_from_this(), event = std::move(event)] {
                   if (const auto self = weak.lock()) self->On(event);
                 });
}

void ContenderRunner::Act(const action::StartRetryTimer&) {
  OnAfter(session::kRetryPause, event::RetryDue{});
}

void ContenderRunner::Act(const action::StartOwnWatchTimer&) {
  OnAfter(session_->timeout() / kOwnWatchFraction, event::OwnWatchDue{});
}

// To the full: it is a promise to the one before.
void ContenderRunner::Act(const action::StartDelayTimer& start) {
  core_->reactor()->CallAt(core_->Now() + acquisition_->candidacy().lock_delay,
                           [weak = weak_from_this(), op = start.op] {
                             if (const auto self = weak.lock()) self->On(event::DelayOver{op});
                           });
}

// Its holder's clock may be slow by the bound, and the next one's fast.
std::optional<absl::Duration> ContenderRunner::StrictLifetime() const {
  const absl::Duration delay = acquisition_->candidacy().lock_delay;
  if (delay == absl::ZeroDuration()) return std::nullopt;
  const LeaseOptions& options = core_->options().lease;
  const double rates = 1 + options.clock_rate_bound;
  return delay / (rates * rates) - options.slack;
}

void ContenderRunner::CheckStrictDeadline() {
  if (lease_ == nullptr) return;
  const Lease::State state = lease_->state();
  if (state == Lease::State::kReleased) return;  // on its way out, and has no deadline any more
  if (state == Lease::State::kLost) return On(event::Lapsed{});
  core_->reactor()->CallAt(lease_->deadline(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->CheckStrictDeadline();
  });
}

void ContenderRunner::Act(const action::Granted& granted) {
  CancelTimeout();
  blocker_watch_bytes_ = {};
  Grant grant;
  grant.sequencer = {queue::ModeText(acquisition_->candidacy().mode), FencingToken(granted.token),
                     core_->name_space().ToUser(granted.node)};
  grant.czxid = granted.czxid;
  grant.session = granted.session;
  lease_ = std::make_shared<LeaseState>(core_, session_->validity(), std::move(grant),
                                        weak_from_this(), StrictLifetime());
  if (StrictLifetime().has_value()) CheckStrictDeadline();
  // A lease that nobody takes any more is dropped here, which has us leave.
  acquisition_->Settle(TryResult(LeaseMaker::Make(lease_)));
}

void ContenderRunner::Act(const action::LeaseLost& lost) { lease_->OnLost(lost.why); }

// The wait goes on, at the tail. (Told to observers once there are any.)
void ContenderRunner::Act(const action::PlaceLost&) {}

void ContenderRunner::Act(const action::LeaveRefused& refused) {
  Answer(releases_, zk::ToStatus(refused.code, "delete", contender_.node()));
}

void ContenderRunner::Act(const action::Finished& finished) {
  CancelTimeout();
  if (finished.outcome == Outcome::kBusy) {
    acquisition_->Settle(TryResult::Busy());
  } else {
    acquisition_->Settle(queue::EndStatus(finished, acquisition_->candidacy().path, server_path_));
  }
  const bool lost = finished.outcome == Outcome::kLost;
  Answer(releases_, lost ? queue::EndStatus(finished, acquisition_->candidacy().path, server_path_)
                         : absl::OkStatus());
  Answer(verifications_, absl::AbortedError(absl::StrCat("verify ", acquisition_->candidacy().path,
                                                         ": the lease is over")));
  node_bytes_ = {};
  own_watch_bytes_ = {};
  blocker_watch_bytes_ = {};
  lease_ = nullptr;
  std::exchange(session_, nullptr)->Part(this);
  self_ = nullptr;
}

void ContenderRunner::CancelTimeout() {
  if (timeout_ != 0) core_->reactor()->Cancel(std::exchange(timeout_, 0));
}

void ContenderRunner::Answer(std::vector<Done>& waiting, const absl::Status& status) {
  for (const Done& done : std::exchange(waiting, {})) done->Set(status);
}

}  // namespace zkrecipes::internal

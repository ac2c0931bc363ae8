// SPDX-License-Identifier: Apache-2.0

#include "recipes/cached/local_queue.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "lib/base/process.h"

namespace zkrecipes::internal {
namespace {

using queue::call::Pending;
using What = recipes::machine::KeptLock::Action::What;
using Start = queue::call::Start<LocalQueue::Answer>;

// What the path's options say, with what the client's say where they do not.
absl::Status CheckOptions(const PathQueue& queue, const CachedLockOptions& options) {
  if (!queue.rule.ok()) return queue.rule;
  const AcquireOptions& acquire = queue.options;
  constexpr absl::Duration kZero = absl::ZeroDuration(), kNever = absl::InfiniteDuration();
  constexpr char kOutlives[] = "a CachedLock has none: its node outlives a turn";
  const struct {
    bool broken;
    const char *option, *rule;
  } rules[] = {
      {acquire.hold_at_most != kNever, "hold_at_most", kOutlives},
      {acquire.alive_within != kNever, "alive_within", kOutlives},
      {*acquire.ends_at == LeaseOptions::EndsAt::kExpiry, "ends_at",
       "a CachedLock's turns begin by the deadline"},
      {!*acquire.wait_for_proof && acquire.lock_delay <= kZero, "wait_for_proof",
       "a CachedLock's turns are proven"},
      {options.max_turns_once_asked < 0, "max_turns_once_asked", "must not be negative"},
      {options.max_time_once_asked < kZero, "max_time_once_asked", "must not be negative"},
      {options.keep_idle_for < absl::Milliseconds(1), "keep_idle_for", "must be at least 1ms"},
  };
  for (const auto& [broken, option, rule] : rules) {
    if (!broken) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("acquire ", queue.path, ": ", option, ": ", rule));
  }
  return absl::OkStatus();
}

}  // namespace

bool Tenure::believed() const {
  const Lease::State state = LeaseMaker::StateOf(lease)->state();
  return state == Lease::State::kHeld || state == Lease::State::kSuspect;
}

void Tenure::OnLeaseEnded() {
  if (const auto alive = queue.lock()) alive->OnEnded(*this);
}

std::shared_ptr<LocalQueue> LocalQueue::Of(const Client& client, std::string path,
                                           const CachedLockOptions& options) {
  // Apart from its owners' count, which timers keep until they are due.
  return std::shared_ptr<LocalQueue>(
      new LocalQueue(PathQueue::Of(client, std::move(path), options.acquire), options));
}

LocalQueue::LocalQueue(queue::acquire::Queue queue, const CachedLockOptions& options)
    : queue_(std::move(queue)),
      rule_(CheckOptions(*queue_, options)),
      keep_idle_for_(options.keep_idle_for),
      listeners_(std::make_shared<const queue::acquire::Listeners>(queue_)),
      machine_({options.max_turns_once_asked, options.max_time_once_asked}) {}

// Whoever waits for it keeps it, so there is at most a node.
LocalQueue::~LocalQueue() {
  if (!core().InHomeProcess()) base::Leak(std::move(tenure_));
  if (tenure_ == nullptr) return;
  TellTurns()();
  LeaseMaker::StateOf(tenure_->lease)->Abandon();
  StopWatch(std::move(tenure_->watch));
}

// ---- what callers ask ---------------------------------------------------------------------------

std::optional<CachedLease> LocalQueue::TakeIdle() {
  Deeds deeds;
  std::optional<CachedLease> lease;
  {
    base::MutexLock lock(mutex_);
    lease = TakeIdleLocked(deeds);
  }
  Do(std::move(deeds));
  return lease;
}

// No turn begins past the deadline: an idle lock whose lease is not believed any more is none.
std::optional<CachedLease> LocalQueue::TakeIdleLocked(Deeds& deeds) {
  if (machine_.state() != Machine::State::kIdle) return std::nullopt;
  if (!tenure_->believed() || !machine_.TakeIdle()) {
    Decide(deeds, machine_.OnEnded());
    return std::nullopt;
  }
  return CachedLease(shared_from_this(), tenure_, machine_.turn());
}

bool LocalQueue::AsksServers() const {
  base::MutexLock lock(mutex_);
  return machine_.state() == Machine::State::kNone;
}

Start LocalQueue::Entering(std::shared_ptr<LocalQueue> self, Form form) {
  const auto core = self->queue_->core;
  return {core,
          [self = std::move(self), form](const WaitOptions& wait, queue::call::Done<Answer>& done) {
            return self->Enter(wait, done, form);
          }};
}

absl::StatusOr<std::shared_ptr<Pending>> LocalQueue::Enter(const WaitOptions& wait,
                                                           queue::call::Done<Answer>& done,
                                                           Form form) {
  if (!rule_.ok()) return rule_;
  if (wait.cancel.stop_requested()) {
    return absl::CancelledError(absl::StrCat("acquire ", path(), ": cancelled"));
  }
  if (form == Form::kAsync) done = ByReactor(std::move(done));
  Deeds deeds;
  std::optional<CachedLease> lease;
  Waiting call;
  {
    base::MutexLock lock(mutex_);
    lease = TakeIdleLocked(deeds);
    const bool busy = machine_.state() != Machine::State::kNone;
    if (!lease.has_value() && busy && form == Form::kTry) {
      return absl::AlreadyExistsError(
          absl::StrCat("acquire ", path(), ": busy", InFront(waiters_ + 1)));
    }
    if (!lease.has_value()) {
      call = NewWaiting(wait, std::move(done), ++waiters_);
      waiting_.emplace(waiters_, call);
      Decide(deeds, machine_.Acquire(waiters_, form == Form::kTry));
    }
  }
  Do(std::move(deeds));
  if (lease.has_value()) {
    std::move(done)(*std::move(lease));
    return nullptr;
  }
  call->HeedCancel(wait.cancel);
  return call;
}

// A grant to a callback goes by the reactor, as a Lock's do: an executor that runs it at once would
// do so inside another thread's release, or inside the call that asks.
queue::call::Done<LocalQueue::Answer> LocalQueue::ByReactor(queue::call::Done<Answer> done) const {
  return [core = queue_->core, done = std::move(done)](Answer answer) mutable {
    core->Post([done = std::move(done), answer = std::move(answer)](session::Session*) mutable {
      std::move(done)(std::move(answer));
    });
  };
}

LocalQueue::Waiting LocalQueue::NewWaiting(const WaitOptions& wait, queue::call::Done<Answer> done,
                                           uint64_t waiter) {
  return queue::call::NewCall<Answer>(
      queue_->core, wait, std::move(done),
      [self = shared_from_this(), waiter, timeout = wait.timeout](bool cancelled) {
        return self->GiveUp(waiter, timeout, cancelled);
      });
}

absl::Status LocalQueue::GiveUp(uint64_t waiter, absl::Duration timeout, bool cancelled) {
  std::shared_ptr<queue::acquire::Acquisition> join;
  std::stop_source withdraw(std::nostopstate);
  std::string why;
  bool local, tries;
  {
    base::MutexLock lock(mutex_);
    why = InFront(waiter);
    local = machine_.has_node();
    tries = machine_.trying() == waiter;
    waiting_.erase(waiter);
    join = join_.lock();
    if (machine_.GiveUp(waiter)) withdraw = withdraw_;
  }
  if (withdraw.stop_possible()) Withdraw(std::move(withdraw), cancelled ? nullptr : join.get());
  const std::string what = absl::StrCat("acquire ", path(), ": ");
  if (cancelled) return absl::CancelledError(absl::StrCat(what, "cancelled", why));
  // A try's join knows whether the lock is busy, or delayed.
  if (tries && join != nullptr && IsBusy(join->refusal())) return join->refusal();
  // A thread of this process needs no connection to hand the lock over.
  std::optional<std::string> cut_off;
  if (!local) cut_off = join != nullptr ? join->CutOff() : core().reach()->CutOff(core().Now());
  return absl::Status(
      cut_off ? absl::StatusCode::kUnavailable : absl::StatusCode::kDeadlineExceeded,
      absl::StrCat(what, "not granted within ", absl::FormatDuration(timeout),
                   cut_off ? ": " + *cut_off : why));
}

// ": " and so on; empty if nothing is known.
std::string LocalQueue::InFront(uint64_t waiter) const {
  const auto& all = machine_.waiting();
  const auto place = std::find(all.begin(), all.end(), waiter);
  const std::string others =
      place == all.begin() || place == all.end()
          ? ""
          : absl::StrCat(", and ", place - all.begin(), " of its callers wait in front");
  if (machine_.has_node()) return absl::StrCat(": this process holds it", others);
  const auto join = join_.lock();
  const size_t in_front = join == nullptr ? 0 : join->in_front();
  if (in_front == 0) return others.empty() ? "" : absl::StrCat(": this process queues", others);
  return absl::StrCat(": this process queues behind ", in_front,
                      in_front == 1 ? " other contender" : " other contenders", others);
}

// Callers that have just given up are passed over: each would end its turn inside the last one's
// end.
void LocalQueue::EndTurn(const Tenure& tenure) {
  On(tenure, [&](Machine& machine) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto& all = machine.waiting();
    while (!all.empty() && waiting_.at(all.front())->settled()) machine.GiveUp(all.front());
    if (!all.empty() && !tenure.believed()) return machine.OnEnded();
    const bool asked = machine.others() == Machine::Others::kWait;
    return machine.OnTurnOver(asked ? core().Now() : base::BootTime());
  });
}

void LocalQueue::OnEnded(const Tenure& tenure) {
  On(tenure, [](Machine& machine) { return machine.OnEnded(); });
}

// ---- what is decided, and done ------------------------------------------------------------------

void LocalQueue::On(const Tenure& tenure, absl::FunctionRef<Machine::Actions(Machine&)> event) {
  Deeds deeds;
  Watch over;
  {
    base::MutexLock lock(mutex_);
    if (tenure_.get() != &tenure) return;
    // Once asked it is to end, whoever comes and goes then.
    const Machine::Actions actions = event(machine_);
    if (machine_.others() == Machine::Others::kWait) over = std::move(tenure_->watch);
    Decide(deeds, actions);
  }
  StopWatch(std::move(over));
  Do(std::move(deeds));
}

void LocalQueue::Decide(Deeds& deeds, const Machine::Actions& actions,
                        const absl::Status& refusal) {
  for (const Machine::Action& action : actions) deeds.push_back(DeedOf(action, refusal));
}

void LocalQueue::Do(Deeds deeds) {
  for (Deed& deed : deeds) std::move(deed)();
}

LocalQueue::Deed LocalQueue::DeedOf(const Machine::Action& action, const absl::Status& refusal) {
  switch (action.what) {
    case What::kJoin:
    case What::kTry:
      withdraw_ = std::stop_source();
      join_.reset();
      return [self = shared_from_this(), try_only = action.what == What::kTry,
              withdraw = withdraw_.get_token()] { self->Join(try_only, withdraw); };
    case What::kGrant:
      // A caller that has just given up drops it, which ends the turn.
      return [call = TakeWaiting(action.waiter),
              lease = CachedLease(shared_from_this(), tenure_, machine_.turn())]() mutable {
        call->Settle(std::move(lease));
      };
    case What::kRefuse:
      return [call = TakeWaiting(action.waiter), refusal] { call->Settle(refusal); };
    case What::kLook:
      return [self = shared_from_this(), tenure = tenure_] { self->Look(tenure); };
    case What::kLeave: {
      Deed tell = TellTurns();
      return [self = shared_from_this(), tell = std::move(tell),
              tenure = std::exchange(tenure_, nullptr)]() mutable {
        std::move(tell)();
        LeaseMaker::StateOf(tenure->lease)->Abandon();
        self->StopWatch(std::move(tenure->watch));
      };
    }
  }
  return nullptr;
}

LocalQueue::Waiting LocalQueue::TakeWaiting(uint64_t waiter) {
  return std::move(waiting_.extract(waiter).mapped());
}

}  // namespace zkrecipes::internal

// SPDX-License-Identifier: Apache-2.0

#include "recipes/partition_runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/queue/acquire/acquisition.h"
#include "lib/queue/machine/node_name.h"
#include "lib/session/client/client_options.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::internal {
namespace {

using queue::acquire::MayTryAgain;
using queue::listing::ChildrenWatch;
using Slots = recipes::machine::PartitionSlot;

// How often an acquire is asked whether it waits for another owner.
constexpr absl::Duration kWaits = absl::Milliseconds(50);
// Of members that have gone, and may come back: they are known for so long.
constexpr absl::Duration kAway = absl::Minutes(10);
// Homes change rarely, and when one goes nobody waits for it.
constexpr absl::Duration kGatherHomes = absl::Seconds(2);
// The longest first wait of a member that joins again.
constexpr absl::Duration kMostHold = absl::Seconds(5);
// A watch that found no room.
constexpr absl::Duration kWatchAgain = absl::Seconds(1);
// How often a member that is not seen in the group asks why.
constexpr absl::Duration kMembershipCheck = absl::Seconds(1);

queue::acquire::TurnPauses PausesOf(const PartitionsOptions& options) {
  return queue::acquire::TurnPauses(
      {.first_pause = options.first_pause, .longest_pause = options.longest_pause});
}

}  // namespace

// ---- one turn of a partition --------------------------------------------------------------------

PartitionState::PartitionState(std::shared_ptr<PartitionRunner> its_runner, size_t its_place,
                               std::string its_name, Lease its_lease)
    : runner(std::move(its_runner)),
      which(its_place),
      name(std::move(its_name)),
      lease(std::move(its_lease)) {}

void PartitionState::HeedEnd() { on_end_.emplace(lease.ended(), OnEnd{weak_from_this()}); }

// The work learns of a loss without a detour.
void PartitionState::OnEnd::operator()() const {
  const auto self = of.lock();
  if (self == nullptr || self->released_) return;
  // First: work that returns when it is told comes behind it.
  self->runner->Post([self](PartitionRunner& its) {
    if (its.slots_[self->which].state == self) its.CarryOut(its.member_.OnEnded(self->which));
  });
  self->RequestEnd(PartitionEnd::kLost);
}

void PartitionState::RequestEnd(PartitionEnd why) {
  const int reason = static_cast<int>(why);
  int none = kNone;
  if (why == PartitionEnd::kLost) {
    reason_ = reason;
  } else if (!reason_.compare_exchange_strong(none, reason)) {
    return;
  }
  end_.request_stop();
}

std::optional<PartitionEnd> PartitionState::reason() const {
  const int reason = reason_;
  if (reason == kNone) return std::nullopt;
  return static_cast<PartitionEnd>(reason);
}

// ---- from outside -------------------------------------------------------------------------------

std::shared_ptr<PartitionRunner> PartitionRunner::Begin(std::shared_ptr<const PartitionsCore> of,
                                                        PartitionEvents events) {
  std::shared_ptr<PartitionRunner> self(new PartitionRunner(std::move(of), std::move(events)));
  self->self_ = self;
  self->Post([](PartitionRunner& runner) { runner.Start(); });
  return self;
}

PartitionRunner::PartitionRunner(std::shared_ptr<const PartitionsCore> of, PartitionEvents events)
    : of_(std::move(of)),
      core_(ClientAccess::Core(*of_->client)),
      events_(std::move(events)),
      subscriber_(std::make_shared<session::Subscriber<absl::AnyInvocable<void()>>>(
          core_->executor(), [](absl::AnyInvocable<void()> call) { call(); })),
      member_(of_->names.size(), static_cast<size_t>(of_->options.at_once)),
      slots_(of_->names.size()),
      group_(of_->group()),
      join_pauses_(PausesOf(of_->options)) {
  // Here, on the caller's thread: a listener of the user's is asked about each path.
  for (size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].queue = std::make_shared<const PathQueue>(core_, of_->lock(i), of_->options.acquire);
    slots_[i].pauses = PausesOf(of_->options);
  }
}

// Once the client is closed, its tasks go on without a session, on any thread.
template <typename Task>
void PartitionRunner::Post(Task task) {
  core_->Post(
      [self = shared_from_this(), task = std::move(task)](session::Session* session) mutable {
        self->session_ = session;
        if (session == nullptr) self->Fail(absl::FailedPreconditionError("the client is closed"));
        task(*self);
        self->Report();
        self->CheckOver();
      });
}

template <typename Task>
void PartitionRunner::After(absl::Duration pause, Task task) {
  if (session_ == nullptr) return;
  zk::Reactor& reactor = *core_->reactor();
  reactor.CallAt(reactor.Now() + pause,
                 [weak = weak_from_this(), task = std::move(task)]() mutable {
                   if (const auto self = weak.lock()) self->Post(std::move(task));
                 });
}

void PartitionRunner::Drain() {
  Post([](PartitionRunner& runner) {
    if (std::exchange(runner.leaving_, true)) return;
    runner.StopJoining();
    runner.CarryOut(runner.member_.Leave());
    const absl::Duration drain = runner.of_->options.drain;
    const auto stop = [](PartitionRunner& late) { late.CarryOut(late.member_.Stop()); };
    if (drain == absl::ZeroDuration()) return stop(runner);
    if (drain < absl::InfiniteDuration()) runner.After(drain, stop);
  });
}

void PartitionRunner::End(absl::Status why) {
  Post([why = std::move(why)](PartitionRunner& runner) { runner.Fail(why); });
}

absl::Status PartitionRunner::LeaveGroup(const WaitOptions& wait) {
  const auto taken = std::make_shared<base::OneShot<std::optional<Membership>>>();
  Post([taken](PartitionRunner& runner) {
    std::optional<Membership> membership;
    membership.swap(runner.membership_);
    taken->Set(std::move(membership));
  });
  auto membership = core_->Await(*taken, base::BootTime::InfiniteFuture());
  return membership->has_value() ? std::move(**membership).Leave(wait) : absl::OkStatus();
}

void PartitionRunner::WhenOver(absl::AnyInvocable<void(absl::Status) &&> over) {
  absl::Status outcome;
  {
    base::MutexLock lock(mutex_);
    if (!outcome_.has_value()) return waiters_.push_back(std::move(over));
    outcome = *outcome_;
  }
  std::move(over)(std::move(outcome));
}

absl::Status PartitionRunner::status() const {
  base::MutexLock lock(mutex_);
  return status_;
}

void PartitionRunner::Return(std::shared_ptr<PartitionState> state) {
  Post([state = std::move(state)](PartitionRunner& runner) {
    const Member::Actions actions = runner.member_.OnReturned(state->which);
    const bool releases = runner.member_.slot(state->which).state() == Slots::State::kLeaving;
    if (!releases) runner.slots_[state->which].state = nullptr;  // its lease was lost
    runner.CarryOut(actions);
  });
}

void PartitionRunner::Mute() {
  muted_ = true;
  subscriber_->End();
}

// ---- the group ----------------------------------------------------------------------------------

void PartitionRunner::Start() {
  if (leaving_) return;
  const auto weak = weak_from_this();
  watch_ = group_.Watch([weak](absl::StatusOr<GroupView> view) {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->Post([view = std::move(view)](PartitionRunner& runner) { runner.OnView(view); });
  });
  WatchHomes();
  Join();
}

void PartitionRunner::WatchHomes() {
  if (leaving_) return;
  homes_watch_ = ChildrenWatch::Begin(
      core_, of_->homes(), kGatherHomes,
      [weak = weak_from_this()](absl::StatusOr<zk::Names> homes) {
        const auto self = weak.lock();
        if (self == nullptr) return;
        self->Post([homes = std::move(homes)](PartitionRunner& runner) { runner.OnHomes(homes); });
      });
}

void PartitionRunner::Join() {
  if (leaving_) return;
  joining_ = true;
  group_.JoinAsync(
      {.id = of_->options.id, .data = of_->data}, {.cancel = stop_joining_.get_token()},
      [self = shared_from_this()](absl::StatusOr<Membership> membership) {
        self->Post([membership = std::move(membership)](PartitionRunner& runner) mutable {
          runner.OnJoined(std::move(membership));
        });
      });
}

void PartitionRunner::OnJoined(absl::StatusOr<Membership> membership) {
  joining_ = false;
  if (leaving_) return;  // it leaves again, in the background
  if (membership.ok()) {
    membership_ = *std::move(membership);
    return MakeHome();
  }
  if (!MayTryAgain(membership.status())) return Fail(membership.status());
  After(join_pauses_.After(absl::ZeroDuration(), core_->reactor()->Random()),
        [](PartitionRunner& late) { late.Join(); });
}

void PartitionRunner::OnView(absl::StatusOr<GroupView> view) {
  if (!view.ok()) return Fail(view.status());
  report_.connected = view->connected;
  if (!view->connected) return;  // the last one counts until there is another
  view_ = *std::move(view);
  NoteHomes();
  Replan();
}

// Where they may not be read, a restart moves more. Otherwise the last ones count until there are
// others: members that plan with different homes may leave a partition to each other.
void PartitionRunner::OnHomes(absl::StatusOr<zk::Names> homes) {
  if (!homes.ok() && !absl::IsPermissionDenied(homes.status())) {
    if (!homes_.has_value()) return Fail(homes.status());
    return After(kWatchAgain, [](PartitionRunner& late) { late.WatchHomes(); });
  }
  homes_ = homes.ok() ? *std::move(homes) : zk::Names();
  MakeHome();
  NoteHomes();
  Replan();
}

// On the executor: a plan for many names and members takes a while, in which no beat would be sent.
void PartitionRunner::Replan() {
  if (!view_.has_value() || !homes_.has_value()) return;
  outdated_ = planning_;
  if (std::exchange(planning_, true)) return;
  core_->executor()->Execute([self = shared_from_this(), view = *view_, homes = *homes_] {
    self->Post([plan = self->of_->Plan(view, homes)](PartitionRunner& runner) {
      runner.planning_ = false;
      runner.OnPlan(plan);
      if (runner.outdated_) runner.Replan();
    });
  });
}

// In another spell of membership the view begins anew: its first ones may be of a group that comes
// together. Until that has had its time, and while this member is not seen for a moment, the last
// plan counts.
void PartitionRunner::OnPlan(const recipes::machine::PartitionPlan& plan) {
  const base::BootTime now = core_->Now();
  report_.members = static_cast<int>(plan.members);
  report_.other_lists = static_cast<int>(plan.other_lists);
  if (joined_ || plan.joined) seen_ = now;
  joined_ = plan.joined;
  if (!joined_) CheckMembership();
  const bool again = spell_ != 0;
  if (joined_ && std::exchange(spell_, plan.spell) != plan.spell) {
    const absl::Duration hold = again ? std::min(plan.first_wait, kMostHold) : plan.first_wait;
    holds_until_ = now + hold;
    After(hold, [](PartitionRunner& late) { late.Replan(); });
    MakeHome();
  }
  const bool missed = !joined_ && now - seen_ > core_->session_timeout();
  if (leaving_) return CarryOut(member_.OnPlan(plan.Of(of_->options.id), plan.members > 0));
  if (missed || (joined_ && now >= holds_until_)) {
    const bool alone = joined_ && plan.members == 1 && IsSeen(plan.spell);
    CarryOut(member_.OnPlan(plan.Of(of_->options.id), plan.members > 0 && !alone));
  }
}

// A membership joins again by itself. If that is refused for good, there is no notice of it.
void PartitionRunner::CheckMembership() {
  if (leaving_ || checks_) return;
  const absl::Status refusal = membership_.has_value() ? membership_->status() : absl::OkStatus();
  if (!refusal.ok()) return Fail(refusal);
  checks_ = true;
  After(kMembershipCheck, [](PartitionRunner& late) {
    late.checks_ = false;
    if (!late.joined_) late.Replan();
  });
}

// Whether this member's own node is the one that counts for its id.
bool PartitionRunner::IsSeen(int64_t spell) const {
  const auto token = membership_.has_value() ? membership_->token() : std::nullopt;
  return token.has_value() && token->value() == spell;
}

// Both nodes are as good if they are there already. What is lost with a connection is sent again
// with the next listing; until then a restart of this member moves more than it must.
void PartitionRunner::MakeHome() {
  if (!membership_.has_value() || session_ == nullptr || !homes_.has_value()) return;
  const std::string parent = core_->name_space().ToServer(of_->homes());
  const std::string own = recipes::machine::HomeName(of_->data, of_->options.id);
  // Not where a namesake is seen: each would delete the other's.
  if (spell_ != 0 && !IsSeen(spell_)) return;
  for (const std::string& home : *homes_) {
    const bool former = recipes::machine::IdOfHome(home) == of_->options.id && home != own;
    if (!former || spell_ == 0) continue;
    session_->Send(zk::Delete{zk::JoinPath(parent, home)}, [](const zk::Reply&) {});
  }
  if (!of_->has_home || std::ranges::find(*homes_, own) != homes_->end()) return;
  std::vector<zk::AclEntry> acl;
  if (of_->options.acquire.acl) acl = session::client::EntriesOf(*of_->options.acquire.acl);
  const auto ignore = [](const zk::Reply&) {};
  session_->Send(zk::Create{parent, "", zk::CreateMode::kContainer, acl}, ignore);
  session_->Send(zk::Create{zk::JoinPath(parent, own), "", zk::CreateMode::kPersistent, acl},
                 ignore);
}

// Those that are due go with a change of the group, which moves some partitions anyway: to forget a
// member moves others than its own, for the sake of the exact balance.
void PartitionRunner::NoteHomes() {
  if (!homes_.has_value() || !view_.has_value() || session_ == nullptr) return;
  const bool changed = std::exchange(noted_, view_->members) != view_->members;
  const base::BootTime now = core_->Now();
  std::map<std::string, base::BootTime> still;
  for (const std::string& home : *homes_) {
    const std::optional<std::string> id = recipes::machine::IdOfHome(home);
    const auto& members = view_->members;
    if (!id || std::ranges::find(members, *id, &zkrecipes::Member::id) != members.end()) continue;
    const base::BootTime since = away_.emplace(home, now).first->second;
    still[home] = since;
    if (now - since < kAway || !changed) continue;
    const std::string parent = core_->name_space().ToServer(of_->homes());
    session_->Send(zk::Delete{zk::JoinPath(parent, home)}, [](const zk::Reply&) {});
  }
  away_ = std::move(still);
}

// ---- its end ------------------------------------------------------------------------------------

void PartitionRunner::StopJoining() {
  leaving_ = true;
  stop_joining_.request_stop();
}

void PartitionRunner::Fail(absl::Status why) {
  if (self_ == nullptr) return;  // it is over
  {
    base::MutexLock lock(mutex_);
    if (status_.ok()) status_ = std::move(why);
  }
  membership_.reset();  // leaves in the background
  StopJoining();
  CarryOut(member_.Stop());
}

void PartitionRunner::CheckOver() {
  const bool in_group = joining_ || membership_.has_value();
  if (self_ == nullptr || in_group || !leaving_ || !member_.over()) return;
  const std::shared_ptr<PartitionRunner> alive = std::move(self_);
  watch_ = Subscription();
  if (homes_watch_ != nullptr) homes_watch_->Stop();
  homes_watch_ = nullptr;
  // A deletion that was not confirmed is, with its session, by now.
  const bool gone = core_->Now() - released_ > 2 * core_->session_timeout();
  std::vector<absl::AnyInvocable<void(absl::Status) &&>> waiters;
  absl::Status outcome;
  {
    base::MutexLock lock(mutex_);
    outcome = status_;
    if (outcome.ok() && unconfirmed_.has_value() && !gone) outcome = *unconfirmed_;
    outcome_ = outcome;
    waiters.swap(waiters_);
  }
  const bool refused = !outcome.ok() && !absl::IsDeadlineExceeded(outcome);
  if (refused && events_.on_ended != nullptr && !muted_) {
    subscriber_->Tell([ended = events_.on_ended, outcome] { ended(outcome); });
  }
  for (auto& waiter : waiters) std::move(waiter)(outcome);
}

void PartitionRunner::Report() {
  if (self_ == nullptr) return;
  report_.owned = static_cast<int>(member_.owned());
  report_.assigned = static_cast<int>(member_.assigned());
  report_.waited_for = static_cast<int>(member_.waited_for());
  report_.lost = static_cast<int>(member_.lost());
  if (report_ == told_ || events_.on_change == nullptr || muted_) return;
  told_ = report_;
  if (!latest_->Put(told_)) return;
  subscriber_->Tell([report = events_.on_change, latest = latest_] { report(latest->Take()); });
}

// ---- its partitions -----------------------------------------------------------------------------

void PartitionRunner::CarryOut(const Member::Actions& actions) {
  for (const Member::Action& action : actions) Act(action);
  if (!asked_.empty()) AskFor(std::exchange(asked_, {}));
}

void PartitionRunner::Act(const Member::Action& action) {
  Slot& slot = slots_[action.which];
  switch (action.what) {
    case Slots::Action::kAcquire:
      return Acquire(action.which);
    case Slots::Action::kWithdraw:
      slot.withdraw.request_stop();
      return;
    case Slots::Action::kBegin:
      return HandOut(action.which);
    case Slots::Action::kWatch:
      return WatchDemand(action.which);
    case Slots::Action::kUnwatch:
      if (slot.demand != nullptr) slot.demand->Stop();
      slot.demand = nullptr;
      return;
    case Slots::Action::kAskBack:
      asked_.emplace_back(slot.state, PartitionEnd::kAskedBack);
      return;
    case Slots::Action::kAskStop:
      asked_.emplace_back(slot.state, PartitionEnd::kStopping);
      return;
    case Slots::Action::kTellLost:
      // The lease itself has told its owner. What has none yet must not wait for a slow receiver.
      if (slot.state->Take()) Return(slot.state);
      return;
    case Slots::Action::kRelease:
      return Release(action.which);
    case Slots::Action::kRest:
      return Rest(action.which);
  }
}

void PartitionRunner::Acquire(size_t which) {
  Slot& slot = slots_[which];
  slot.turn = ++turns_;
  slot.withdraw = std::stop_source();
  // No member waits for an answer that is lost: the contender finds its node again.
  slot.acquire = queue::call::Begin(
      queue::acquire::Enter(slot.queue, queue::machine::Candidacy()),
      {.cancel = slot.withdraw.get_token()},
      [self = shared_from_this(), which](absl::StatusOr<Lease> lease) {
        self->Post([which, lease = std::move(lease)](PartitionRunner& runner) mutable {
          runner.OnAnswer(which, std::move(lease));
        });
      });
  LookAtAcquire(which);
}

// It has not been answered yet: does it wait for another owner, or for the servers?
void PartitionRunner::LookAtAcquire(size_t which) {
  After(kWaits, [which, turn = slots_[which].turn](PartitionRunner& late) {
    const auto call = late.slots_[which].acquire.lock();
    if (late.IsLate(which, turn) || call == nullptr || call->settled()) return;
    const bool waits = static_cast<const queue::acquire::Acquisition&>(*call).in_front() > 0;
    if (!waits) return late.LookAtAcquire(which);
    late.CarryOut(late.member_.OnWaits(which));
  });
}

void PartitionRunner::OnAnswer(size_t which, absl::StatusOr<Lease> lease) {
  if (!lease.ok() && !MayTryAgain(lease.status())) Fail(lease.status());
  // The process may have stood still since the grant: what is lost by now was not worth beginning.
  if (!lease.ok() || lease->end_reason().has_value()) return CarryOut(member_.OnRefused(which));
  slots_[which].state = std::make_shared<PartitionState>(shared_from_this(), which,
                                                         of_->names[which], *std::move(lease));
  slots_[which].state->HeedEnd();
  CarryOut(member_.OnGranted(which));
}

namespace {

// A partition on its way to the receiver. If that never runs, it is given back.
class Untold {
 public:
  explicit Untold(std::shared_ptr<PartitionState> state) : state_(std::move(state)) {}
  Untold(Untold&&) = default;
  Untold& operator=(Untold&&) = delete;
  ~Untold() {
    if (state_ != nullptr && state_->Take()) state_->runner->Return(state_);
  }
  void Tell(const std::function<void(OwnedPartition)>& gained) && {
    if (state_->Take()) gained(PartitionMaker::Make(std::move(state_)));
  }

 private:
  std::shared_ptr<PartitionState> state_;
};

}  // namespace

void PartitionRunner::HandOut(size_t which) {
  Untold untold(slots_[which].state);
  if (muted_) return;
  subscriber_->Tell([gained = events_.on_gained, untold = std::move(untold)]() mutable {
    std::move(untold).Tell(gained);
  });
}

void PartitionRunner::WatchDemand(size_t which) {
  Slot& slot = slots_[which];
  if (slot.demand != nullptr) slot.demand->Stop();
  slot.demand = ChildrenWatch::Begin(
      core_, of_->lock(which), absl::ZeroDuration(),
      [weak = weak_from_this(), which, watch = ++slot.demands](absl::StatusOr<zk::Names> queue) {
        const auto self = weak.lock();
        if (self == nullptr) return;
        self->Post([which, watch, queue = std::move(queue)](PartitionRunner& runner) {
          if (runner.slots_[which].demands == watch) runner.OnQueue(which, queue);
        });
      });
}

// Where it may not be seen whether another contender waits, one may.
void PartitionRunner::OnQueue(size_t which, const absl::StatusOr<zk::Names>& queue) {
  const Slot& slot = slots_[which];
  if (slot.demand == nullptr || slot.state == nullptr) return;
  if (absl::IsResourceExhausted(queue.status())) {  // no room for the watch: later there may be
    return After(kWatchAgain, [which, watch = slot.demands](PartitionRunner& late) {
      const Slot& then = late.slots_[which];
      if (then.demands == watch && then.demand != nullptr) late.WatchDemand(which);
    });
  }
  const auto waits = [own = zk::NodeName(slot.state->lease.node())](const std::string& name) {
    return name != own && queue::machine::ParseNodeName(name).has_value();
  };
  if (!queue.ok() || std::ranges::any_of(*queue, waits)) CarryOut(member_.OnDemanded(which));
}

// Work that was never begun ends at once, whatever the receiver waits for.
void PartitionRunner::AskFor(
    std::vector<std::pair<std::shared_ptr<PartitionState>, PartitionEnd>> asked) {
  std::erase_if(asked, [](const auto& one) {
    const bool untold = one.first->Take();
    if (untold) one.first->runner->Return(one.first);
    return untold;
  });
  core_->executor()->Execute([asked = std::move(asked)] {
    for (const auto& [state, why] : asked) state->RequestEnd(why);
  });
}

void PartitionRunner::Release(size_t which) {
  PartitionState& state = *slots_[which].state;
  state.Releases();
  std::move(state.lease)
      .ReleaseAsync({.timeout = core_->session_timeout()},
                    [self = shared_from_this(), which](absl::Status status) {
                      self->Post([which, status = std::move(status)](PartitionRunner& runner) {
                        runner.OnReleased(which, status);
                      });
                    });
}

void PartitionRunner::OnReleased(size_t which, const absl::Status& status) {
  slots_[which].state = nullptr;
  if (absl::IsDeadlineExceeded(status)) {
    unconfirmed_ = status;
    released_ = core_->Now();
  }
  // Another lock would only be met by the same refusal.
  if (absl::IsPermissionDenied(status)) Fail(status);
  CarryOut(member_.OnLeft(which));
}

void PartitionRunner::Rest(size_t which) {
  Slot& slot = slots_[which];
  const absl::Duration pause =
      slot.pauses.After(core_->Now() - slot.rested, core_->reactor()->Random());
  slot.rested = core_->Now() + pause;
  After(pause, [which, turn = slot.turn](PartitionRunner& late) {
    if (!late.IsLate(which, turn)) late.CarryOut(late.member_.OnRested(which));
  });
}

}  // namespace zkrecipes::internal

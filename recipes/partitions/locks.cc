// SPDX-License-Identifier: Apache-2.0

#include "recipes/partitions/locks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "lib/queue/acquire/acquisition.h"
#include "lib/queue/machine/node_name.h"
#include "lib/zk/seam/path.h"
#include "recipes/partitions/runner.h"

namespace zkrecipes::internal {
namespace {

using queue::listing::ChildrenWatch;
using Slots = recipes::machine::PartitionSlot;

// How often an acquire is asked whether it waits for another owner.
constexpr absl::Duration kWaits = absl::Milliseconds(50);
// A watch that found no room.
constexpr absl::Duration kWatchAgain = absl::Seconds(1);

}  // namespace

PartitionLocks::PartitionLocks(PartitionRunner& runner)
    : runner_(runner),
      member_(runner.of().names.size(), static_cast<size_t>(runner.of().options.at_once)),
      slots_(runner.of().names.size()) {
  // Here, on the caller's thread: a listener of the user's is asked about each path.
  for (size_t i = 0; i < slots_.size(); ++i) {
    const PartitionsOptions& options = runner.of().options;
    slots_[i].queue = std::make_shared<const PathQueue>(
        runner.core().shared_from_this(), runner.of().lock(i), options.acquire, options.id);
    slots_[i].pauses = runner.pauses();
  }
}

// ---- what happens -------------------------------------------------------------------------------

void PartitionLocks::OnPlan(const std::vector<bool>& mine, bool others) {
  CarryOut(member_.OnPlan(mine, others));
}

void PartitionLocks::OnEnded(const std::shared_ptr<PartitionState>& state) {
  if (slots_[state->which].state == state) CarryOut(member_.OnEnded(state->which));
}

void PartitionLocks::OnReturned(const std::shared_ptr<PartitionState>& state) {
  const Member::Actions actions = member_.OnReturned(state->which);
  const bool releases = member_.slot(state->which).state() == Slots::State::kLeaving;
  if (!releases) slots_[state->which].state = nullptr;  // its lease was lost
  CarryOut(actions);
}

void PartitionLocks::Leave() { CarryOut(member_.Leave()); }
void PartitionLocks::Stop() { CarryOut(member_.Stop()); }

absl::Status PartitionLocks::unconfirmed() const {
  const bool gone = queue::acquire::IsGoneByNow(runner_.core(), released_);
  return gone ? absl::OkStatus() : unconfirmed_;
}

void PartitionLocks::Count(PartitionsReport& report) const {
  report.owned = static_cast<int>(member_.owned());
  report.assigned = static_cast<int>(member_.assigned());
  report.waited_for = static_cast<int>(member_.waited_for());
  report.lost = static_cast<int>(member_.lost());
}

// ---- what is done -------------------------------------------------------------------------------

void PartitionLocks::CarryOut(const Member::Actions& actions) {
  for (const Member::Action& action : actions) Act(action);
  if (!asked_.empty()) AskFor(std::exchange(asked_, {}));
}

void PartitionLocks::Act(const Member::Action& action) {
  Slot& slot = slots_[action.which];
  switch (action.what) {
    case Slots::Action::kAcquire:
      return Acquire(action.which);
    case Slots::Action::kWithdraw:
      slot.withdraw.request_stop();
      return;
    case Slots::Action::kBegin:
      return runner_.TellGained(slot.state);
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
      if (slot.state->Take()) runner_.Return(slot.state);
      return;
    case Slots::Action::kRelease:
      return Release(action.which);
    case Slots::Action::kRest:
      return Rest(action.which);
  }
}

void PartitionLocks::Acquire(size_t which) {
  Slot& slot = slots_[which];
  slot.turn = ++turns_;
  slot.withdraw = std::stop_source();
  // No member waits for an answer that is lost: the contender finds its node again.
  slot.acquire = queue::call::Begin(
      queue::acquire::Enter(slot.queue, queue::machine::Candidacy()),
      {.cancel = slot.withdraw.get_token()},
      [runner = runner_.shared_from_this(), which](absl::StatusOr<Lease> lease) {
        runner->Post([which, lease = std::move(lease)](PartitionRunner& its) mutable {
          its.locks().OnAnswer(which, std::move(lease));
        });
      });
  LookAtAcquire(which);
}

// It has not been answered yet: does it wait for another owner, or out the lock delay after one, or
// for the servers?
void PartitionLocks::LookAtAcquire(size_t which) {
  runner_.After(kWaits, [which, turn = slots_[which].turn](PartitionRunner& its) {
    PartitionLocks& late = its.locks();
    const auto call = late.slots_[which].acquire.lock();
    if (late.IsLate(which, turn) || call == nullptr || call->settled()) return;
    const auto& acquisition = static_cast<const queue::acquire::Acquisition&>(*call);
    const bool waits = acquisition.in_front() > 0 || acquisition.delayed();
    if (!waits) return late.LookAtAcquire(which);
    late.CarryOut(late.member_.OnWaits(which));
  });
}

void PartitionLocks::OnAnswer(size_t which, absl::StatusOr<Lease> lease) {
  if (!lease.ok() && !queue::acquire::MayTryAgain(lease.status())) runner_.Fail(lease.status());
  // The process may have stood still since the grant: what is lost by now was not worth beginning.
  if (!lease.ok() || lease->end_reason().has_value()) return CarryOut(member_.OnRefused(which));
  slots_[which].state = std::make_shared<PartitionState>(
      runner_.shared_from_this(), which, runner_.of().names[which], *std::move(lease));
  slots_[which].state->HeedEnd();
  CarryOut(member_.OnGranted(which));
}

void PartitionLocks::WatchDemand(size_t which) {
  Slot& slot = slots_[which];
  if (slot.demand != nullptr) slot.demand->Stop();
  slot.demand = ChildrenWatch::Begin(
      runner_.core().shared_from_this(), runner_.of().lock(which), absl::ZeroDuration(),
      [weak = runner_.weak_from_this(), which,
       watch = ++slot.demands](absl::StatusOr<zk::Names> queue) {
        const auto runner = weak.lock();
        if (runner == nullptr) return;
        runner->Post([which, watch, queue = std::move(queue)](PartitionRunner& its) {
          if (its.locks().slots_[which].demands == watch) its.locks().OnQueue(which, queue);
        });
      });
}

// Where it may not be seen whether another contender waits, one may.
void PartitionLocks::OnQueue(size_t which, const absl::StatusOr<zk::Names>& queue) {
  const Slot& slot = slots_[which];
  if (slot.demand == nullptr || slot.state == nullptr) return;
  if (absl::IsResourceExhausted(queue.status())) {  // no room for the watch: later there may be
    return runner_.After(kWatchAgain, [which, watch = slot.demands](PartitionRunner& its) {
      const Slot& then = its.locks().slots_[which];
      if (then.demands == watch && then.demand != nullptr) its.locks().WatchDemand(which);
    });
  }
  const auto waits = [own = zk::NodeName(slot.state->lease.node())](const std::string& name) {
    return name != own && queue::machine::ParseNodeName(name).has_value();
  };
  if (!queue.ok() || std::ranges::any_of(*queue, waits)) CarryOut(member_.OnDemanded(which));
}

// Work that was never begun ends at once, whatever the receiver waits for.
void PartitionLocks::AskFor(
    std::vector<std::pair<std::shared_ptr<PartitionState>, PartitionEnd>> asked) {
  std::erase_if(asked, [](const auto& one) {
    const bool untold = one.first->Take();
    if (untold) one.first->runner->Return(one.first);
    return untold;
  });
  runner_.core().executor()->Execute([asked = std::move(asked)] {
    for (const auto& [state, why] : asked) state->RequestEnd(why);
  });
}

void PartitionLocks::Release(size_t which) {
  PartitionState& state = *slots_[which].state;
  state.Releases();
  std::move(state.lease)
      .ReleaseAsync({.timeout = runner_.core().session_timeout()},
                    [runner = runner_.shared_from_this(), which](absl::Status status) {
                      runner->Post([which, status = std::move(status)](PartitionRunner& its) {
                        its.locks().OnReleased(which, status);
                      });
                    });
}

void PartitionLocks::OnReleased(size_t which, const absl::Status& status) {
  slots_[which].state = nullptr;
  if (absl::IsDeadlineExceeded(status)) {
    unconfirmed_ = status;
    released_ = runner_.core().Now();
  }
  // Another lock would only be met by the same refusal.
  if (absl::IsPermissionDenied(status)) runner_.Fail(status);
  CarryOut(member_.OnLeft(which));
}

void PartitionLocks::Rest(size_t which) {
  Slot& slot = slots_[which];
  const base::BootTime now = runner_.core().Now();
  const absl::Duration pause = slot.pauses.After(now - slot.rested, runner_.random());
  slot.rested = now + pause;
  runner_.After(pause, [which, turn = slot.turn](PartitionRunner& its) {
    PartitionLocks& late = its.locks();
    if (!late.IsLate(which, turn)) late.CarryOut(late.member_.OnRested(which));
  });
}

}  // namespace zkrecipes::internal

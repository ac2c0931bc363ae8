// SPDX-License-Identifier: Apache-2.0
//
// The node that a LocalQueue's callers share: how it comes, is watched beside, and goes.

#include <algorithm>
#include <string>
#include <utility>

#include "lib/queue/machine/node_name.h"
#include "lib/zk/seam/path.h"
#include "recipes/cached/local_queue.h"

namespace zkrecipes::internal {

using queue::listing::ChildrenWatch;

namespace {

// Both, unless one of them is gone.
std::pair<std::shared_ptr<LocalQueue>, std::shared_ptr<Tenure>> Alive(
    const std::weak_ptr<Tenure>& weak) {
  auto tenure = weak.lock();
  return {tenure == nullptr ? nullptr : tenure->queue.lock(), std::move(tenure)};
}

}  // namespace

void LocalQueue::Join(bool try_only, const std::stop_token& withdraw) {
  const queue::machine::Candidacy candidacy{.try_only = try_only, .stays = true};
  auto join = queue::call::Begin(queue::acquire::Enter(queue_, candidacy), {.cancel = withdraw},
                                 [self = shared_from_this()](absl::StatusOr<Lease> lease) {
                                   self->OnAnswer(std::move(lease));
                                 });
  base::MutexLock lock(mutex_);
  if (withdraw_.get_token() == withdraw) {
    join_ = std::static_pointer_cast<queue::acquire::Acquisition>(join);
  }
}

// Others may have come since. `late`: the join, if it is for that it is withdrawn.
void LocalQueue::Withdraw(std::stop_source withdraw, queue::call::Pending* late) {
  {
    base::MutexLock lock(mutex_);
    if (withdraw_ == withdraw && !machine_.OnWithdraw()) return;
  }
  if (late != nullptr) late->TimeOut();
  withdraw.request_stop();
}

void LocalQueue::OnAnswer(absl::StatusOr<Lease> lease) {
  Deeds deeds;
  std::shared_ptr<Tenure> tenure;
  {
    base::MutexLock lock(mutex_);
    if (lease.ok()) {
      const auto name = queue::machine::ParseNodeName(zk::NodeName(lease->node()));
      const auto before = std::exchange(sequence_, name->sequence);
      tenure = tenure_ = std::make_shared<Tenure>(weak_from_this(), *std::move(lease));
      Decide(deeds, machine_.OnGranted(before.has_value() && name->sequence == *before + 1));
    } else {
      Decide(deeds, machine_.OnRefused(), lease.status());
    }
  }
  // It may have ended just now.
  if (tenure != nullptr) LeaseMaker::StateOf(tenure->lease)->AddFollower(tenure);
  Do(std::move(deeds));
}

// In the session of the node: there the node is seen, and newcomers are heard of for as long as the
// lease is proven. Another thread may have ended the tenure meanwhile.
void LocalQueue::Look(const std::shared_ptr<Tenure>& tenure) {
  const auto over = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return tenure_ != tenure || machine_.others() == Machine::Others::kWait;
  };
  {
    base::MutexLock lock(mutex_);
    if (over()) return;
  }
  const std::weak_ptr<Tenure> weak = tenure;
  Watch watch = ChildrenWatch::Begin(
      queue_->core, path(), absl::ZeroDuration(),
      [weak](const absl::StatusOr<zk::Names>& children) {
        if (const auto [self, of] = Alive(weak); self != nullptr) self->OnListing(*of, children);
      },
      LeaseMaker::StateOf(tenure->lease)->session(),
      [weak] {
        const auto [self, of] = Alive(weak);
        return self != nullptr && self->OnChanged(*of);
      });
  CallAfter(Machine::kLookAtMost, [weak] {
    if (const auto [self, of] = Alive(weak); self != nullptr) self->OnLookLate(*of);
  });
  bool check = false;
  {
    base::MutexLock lock(mutex_);
    if (!over()) {
      tenure->watch.swap(watch);
      check = !std::exchange(checks_quiet_, true);
    }
  }
  StopWatch(std::move(watch));
  if (check) CheckQuietLater();
}

void LocalQueue::OnListing(const Tenure& tenure, const absl::StatusOr<zk::Names>& children) {
  const base::BootTime now = core().Now();
  if (!children.ok()) return On(tenure, [now](Machine& machine) { return machine.OnBlind(now); });
  const std::string own(zk::NodeName(tenure.lease.node()));
  // By a server that lags and will see the node; or it is gone, and the lease with it.
  if (std::ranges::find(*children, own) == children->end()) return;
  const bool wait = std::ranges::any_of(*children, [&own](const std::string& name) {
    return name != own && queue::machine::ParseNodeName(name).has_value();
  });
  On(tenure, [wait, now](Machine& machine) { return machine.OnOthers(wait, now); });
}

// True: no listing has shown the own node yet, so another one is to.
bool LocalQueue::OnChanged(const Tenure& tenure) {
  bool look = false;
  On(tenure, [&, now = core().Now()](Machine& machine) {
    look = machine.others() == Machine::Others::kNotKnown;
    return machine.OnChanged(now);
  });
  return look;
}

void LocalQueue::OnLookLate(const Tenure& tenure) {
  On(tenure, [now = core().Now()](Machine& machine) {
    const bool late = machine.others() == Machine::Others::kNotKnown;
    return late ? machine.OnBlind(now) : Machine::Actions();
  });
}

void LocalQueue::StopWatch(Watch watch) const {
  if (watch == nullptr) return;
  queue_->core->Post([watch = std::move(watch)](session::Session*) { watch->Stop(); });
}

// ---- once in a while ----------------------------------------------------------------------------

LocalQueue::Deed LocalQueue::TellTurns() {
  const int64_t more = machine_.turn() - tenure_->told;
  if (listeners_->empty() || more <= 0) return [] {};
  tenure_->told = machine_.turn();
  return [core = queue_->core, listeners = listeners_, lease = tenure_->lease.sequencer(), more] {
    core->Post([listeners, lease, more](session::Session*) {
      listeners->Tell([lease, more](EventListener& to) { to.OnTurns(lease, more); });
    });
  };
}

// One timer, whatever number of tenures there are meanwhile.
void LocalQueue::CheckQuietLater() {
  if (keep_idle_for_ == absl::InfiniteDuration()) return;
  CallAfter(keep_idle_for_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnQuietCheck();
  });
}

void LocalQueue::OnQuietCheck() {
  Deeds deeds;
  bool again;
  {
    base::MutexLock lock(mutex_);
    if (tenure_ != nullptr) deeds.push_back(TellTurns());
    Decide(deeds, machine_.OnQuietCheck());
    again = checks_quiet_ = tenure_ != nullptr;
  }
  Do(std::move(deeds));
  if (again) CheckQuietLater();
}

void LocalQueue::CallAfter(absl::Duration pause, zk::Reactor::Task task) const {
  queue_->core->Post(
      [core = queue_->core, pause, task = std::move(task)](session::Session* session) mutable {
        if (session == nullptr) return;
        zk::Reactor& reactor = *core->reactor();
        reactor.CallAt(reactor.Now() + pause, std::move(task));
      });
}

}  // namespace zkrecipes::internal

// SPDX-License-Identifier: Apache-2.0
//
// The node that a LocalQueue's callers share: how it comes, is watched beside, and goes.

#include <algorithm>
#include <utility>

#include "lib/queue/machine/node_name.h"
#include "lib/zk/seam/path.h"
#include "recipes/cached/local_queue.h"

namespace zkrecipes::internal {

using queue::listing::ChildrenWatch;

void LocalQueue::Join(bool try_only, const std::stop_token& withdraw) {
  const queue::machine::Candidacy candidacy{.try_only = try_only, .stays = true};
  auto join = queue::call::Begin(queue::acquire::Enter(queue_, candidacy), {.cancel = withdraw},
                                 [self = shared_from_this()](absl::StatusOr<Lease> lease) {
                                   self->OnAnswer(std::move(lease));
                                 });
  base::MutexLock lock(mutex_);
  if (withdraw_.get_token() == withdraw) join_ = join;
}

// Others may have come since.
void LocalQueue::Withdraw(std::stop_source withdraw) {
  {
    base::MutexLock lock(mutex_);
    if (withdraw_ == withdraw && !machine_.OnWithdraw()) return;
  }
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
      told_ = 0;
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
      [weak](absl::StatusOr<zk::Names> children) {
        const auto of = weak.lock();
        const auto self = of == nullptr ? nullptr : of->queue.lock();
        if (self != nullptr) self->OnListing(*of, children);
      },
      LeaseMaker::StateOf(tenure->lease)->session(),
      [weak] {
        const auto of = weak.lock();
        const auto self = of == nullptr ? nullptr : of->queue.lock();
        return self != nullptr && self->OnChanged(*of);
      });
  bool check = false;
  {
    base::MutexLock lock(mutex_);
    if (!over()) {
      watch_.swap(watch);
      check = !std::exchange(checks_quiet_, true);
    }
  }
  StopWatch(std::move(watch));
  if (check) CheckQuietLater();
}

void LocalQueue::OnListing(const Tenure& tenure, const absl::StatusOr<zk::Names>& children) {
  Deeds deeds;
  Watch over;
  {
    base::MutexLock lock(mutex_);
    if (tenure_.get() != &tenure) return;
    const std::string own(zk::NodeName(tenure.lease.node()));
    if (!children.ok()) {
      Decide(deeds, machine_.OnBlind(core().Now()));
    } else if (std::ranges::find(*children, own) == children->end()) {
      return;  // by a server that lags and will see the node; or it is gone, and the lease with it
    } else {
      const bool wait = std::ranges::any_of(*children, [&own](const std::string& name) {
        return name != own && queue::machine::ParseNodeName(name).has_value();
      });
      Decide(deeds, machine_.OnOthers(wait, core().Now()));
    }
    // Once asked it is to end, whoever comes and goes now.
    if (machine_.others() == Machine::Others::kWait) over = std::exchange(watch_, nullptr);
  }
  StopWatch(std::move(over));
  Do(std::move(deeds));
}

// True: no listing has shown the own node yet, so another one is to.
bool LocalQueue::OnChanged(const Tenure& tenure) {
  Deeds deeds;
  Watch over;
  {
    base::MutexLock lock(mutex_);
    if (tenure_.get() != &tenure) return false;
    if (machine_.others() == Machine::Others::kNotKnown) return true;
    over = std::exchange(watch_, nullptr);
    Decide(deeds, machine_.OnChanged(core().Now()));
  }
  StopWatch(std::move(over));
  Do(std::move(deeds));
  return false;
}

void LocalQueue::StopWatch(Watch watch) const {
  if (watch == nullptr) return;
  queue_->core->Post([watch = std::move(watch)](session::Session*) { watch->Stop(); });
}

// ---- once in a while ----------------------------------------------------------------------------

// The first turn of a tenure is its grant's.
LocalQueue::Deed LocalQueue::TellTurns() {
  const int64_t more = machine_.turn() - std::max<int64_t>(1, told_);
  if (listeners_->empty() || more <= 0) return [] {};
  told_ = machine_.turn();
  return [core = queue_->core, listeners = listeners_, lease = tenure_->lease.sequencer(), more] {
    core->Post([listeners, lease, more](session::Session*) {
      listeners->Tell([lease, more](EventListener& to) { to.OnTurns(lease, more); });
    });
  };
}

// One timer, whatever number of tenures there are meanwhile.
void LocalQueue::CheckQuietLater() {
  if (keep_idle_for_ == absl::InfiniteDuration()) return;
  queue_->core->Post([weak = weak_from_this()](session::Session* session) {
    const auto self = weak.lock();
    if (self == nullptr || session == nullptr) return;
    zk::Reactor& reactor = *self->queue_->core->reactor();
    self->quiet_timer_ = reactor.CallAt(reactor.Now() + self->keep_idle_for_, [weak] {
      const auto late = weak.lock();
      if (late == nullptr) return;
      late->quiet_timer_ = 0;
      late->OnQuietCheck();
    });
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

}  // namespace zkrecipes::internal

// SPDX-License-Identifier: Apache-2.0

#include "recipes/partitions/runner.h"

#include <functional>
#include <utility>

namespace zkrecipes::internal {
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

std::shared_ptr<PartitionRunner> PartitionRunner::Begin(std::shared_ptr<const PartitionsCore> of,
                                                        PartitionEvents events) {
  std::shared_ptr<PartitionRunner> self(new PartitionRunner(std::move(of), std::move(events)));
  self->self_ = self;
  self->Post([](PartitionRunner& runner) { runner.place_.Begin(); });
  return self;
}

PartitionRunner::PartitionRunner(std::shared_ptr<const PartitionsCore> of, PartitionEvents events)
    : of_(std::move(of)),
      core_(ClientAccess::Core(*of_->client)),
      events_(std::move(events)),
      subscriber_(std::make_shared<session::Subscriber<absl::AnyInvocable<void()>>>(
          core_->executor(), [](absl::AnyInvocable<void()> call) { call(); })),
      place_(*this),
      locks_(*this),
      // Those of one partition's lock: a group of paths is told of both.
      listeners_(std::make_shared<PathQueue>(core_, of_->lock(0), of_->options.acquire)) {}

queue::acquire::TurnPauses PartitionRunner::pauses() const {
  return queue::acquire::TurnPauses(
      {.first_pause = of_->options.first_pause, .longest_pause = of_->options.longest_pause});
}

// ---- for its owner ------------------------------------------------------------------------------

void PartitionRunner::Drain() {
  Post([](PartitionRunner& its) {
    if (its.place_.leaves()) return;
    its.place_.Leave();
    its.locks_.Leave();
    const absl::Duration drain = its.of_->options.drain;
    if (drain == absl::ZeroDuration()) return its.locks_.Stop();
    if (drain == absl::InfiniteDuration()) return;
    its.After(drain, [](PartitionRunner& late) { late.locks_.Stop(); });
  });
}

void PartitionRunner::End(absl::Status why) {
  Post([why = std::move(why)](PartitionRunner& its) { its.Fail(why); });
}

absl::Status PartitionRunner::LeaveGroup(const WaitOptions& wait) {
  const auto taken = std::make_shared<base::OneShot<std::optional<Membership>>>();
  Post([taken](PartitionRunner& its) { taken->Set(its.place_.TakeMembership()); });
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
  Post([state = std::move(state)](PartitionRunner& its) { its.locks_.OnReturned(state); });
}

void PartitionRunner::Mute() {
  muted_ = true;
  subscriber_->End();
}

// ---- its end ------------------------------------------------------------------------------------

void PartitionRunner::Fail(absl::Status why) {
  if (self_ == nullptr) return;  // it is over
  {
    base::MutexLock lock(mutex_);
    if (status_.ok()) status_ = std::move(why);
  }
  place_.TakeMembership();  // leaves in the background
  place_.Leave();
  locks_.Stop();
}

void PartitionRunner::CheckOver() {
  if (self_ == nullptr || !place_.over() || !locks_.over()) return;
  const std::shared_ptr<PartitionRunner> alive = std::move(self_);
  place_.End();
  TellListeners({});
  std::vector<absl::AnyInvocable<void(absl::Status) &&>> waiters;
  absl::Status outcome;
  {
    base::MutexLock lock(mutex_);
    outcome = status_.ok() ? locks_.unconfirmed() : status_;
    outcome_ = outcome;
    waiters.swap(waiters_);
  }
  const bool refused = !outcome.ok() && !absl::IsDeadlineExceeded(outcome);
  if (refused && events_.on_ended != nullptr && !muted_) {
    subscriber_->Tell([ended = events_.on_ended, outcome] { ended(outcome); });
  }
  for (auto& waiter : waiters) std::move(waiter)(outcome);
}

// ---- what is told -------------------------------------------------------------------------------

void PartitionRunner::TellGained(std::shared_ptr<PartitionState> state) {
  Untold untold(std::move(state));
  if (muted_) return;
  subscriber_->Tell([gained = events_.on_gained, untold = std::move(untold)]() mutable {
    std::move(untold).Tell(gained);
  });
}

void PartitionRunner::Report() {
  const bool tells = events_.on_change != nullptr && !muted_;
  if (self_ == nullptr || (!tells && listeners_.empty())) return;
  PartitionsReport report;
  place_.Count(report);
  locks_.Count(report);
  if (report == told_) return;
  TellListeners(report);
  if (!tells || !latest_->Put(report)) return;
  subscriber_->Tell([tell = events_.on_change, latest = latest_] { tell(latest->Take()); });
}

void PartitionRunner::TellListeners(const PartitionsReport& now) {
  const PartitionsReport before = std::exchange(told_, now);
  if (before == now) return;
  listeners_.Tell([now, before](EventListener& to,
                                const std::string& path) { to.OnPartitions(path, now, before); },
                  of_->path);
}

}  // namespace zkrecipes::internal

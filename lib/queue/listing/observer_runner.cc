// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/listing/observer_runner.h"

#include <utility>

#include "lib/queue/listing/node_data.h"

namespace zkrecipes::queue::listing {
namespace {

bool Same(const ObserverRunner::News& a, const ObserverRunner::News& b) {
  if (!a.ok() || !b.ok()) return false;
  if (!a->has_value() || !b->has_value()) return a->has_value() == b->has_value();
  return (*a)->node == (*b)->node && (*a)->token == (*b)->token && (*a)->value == (*b)->value &&
         (*a)->owner.id == (*b)->owner.id;
}

}  // namespace

Subscription ObserverRunner::Observe(const std::shared_ptr<internal::ClientCore>& core,
                                     const std::string& path,
                                     absl::AnyInvocable<void(News)> callback) {
  return Follow<ObserverRunner>(core, path, WithoutRepeats<News>(std::move(callback), Same));
}

ObserverRunner::ObserverRunner(std::shared_ptr<internal::ClientCore> core, const std::string& path,
                               std::shared_ptr<Subscriber> subscriber)
    : PathFollower(std::move(core), path, "observe"),
      subscriber_(std::move(subscriber)),
      observer_(parent()) {}

void ObserverRunner::Handle(const machine::observing::Event& event) {
  CarryOut(*this, observer_.On(event));
}

void ObserverRunner::TellLast(absl::Status why) { subscriber_->TellLatest(std::move(why)); }

void ObserverRunner::Act(const machine::observing::action::Tell& tell) {
  std::optional<Leader> leader;
  if (tell.head.has_value()) leader = listing::DescribeLeader(*tell.head);
  // A slow callback misses the states between two calls, never the latest.
  subscriber_->TellLatest(std::move(leader));
}

}  // namespace zkrecipes::queue::listing

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_LISTING_OBSERVER_RUNNER_H_
#define ZKRECIPES_LIB_QUEUE_LISTING_OBSERVER_RUNNER_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"

#include "lib/queue/listing/path_follower.h"
#include "lib/queue/machine/observer.h"
#include "zkrecipes/leader.h"

namespace zkrecipes::queue::listing {

// Drives one Observer.
class ObserverRunner : public PathFollower {
 public:
  using News = absl::StatusOr<std::optional<Leader>>;
  using Subscriber = session::Subscriber<News>;

  // See LeaderElection::Observe.
  static Subscription Observe(const std::shared_ptr<internal::ClientCore>& core,
                              const std::string& path, absl::AnyInvocable<void(News)> callback);

  ObserverRunner(std::shared_ptr<internal::ClientCore> core, const std::string& path,
                 std::shared_ptr<Subscriber> subscriber);

 private:
  friend class PathFollower;
  void Handle(const machine::observing::Event& event) override;
  void TellLast(absl::Status why) override;
  using PathFollower::Act;
  void Act(const machine::observing::action::Tell& tell);

  const std::shared_ptr<Subscriber> subscriber_;
  machine::observing::Observer observer_;
};

}  // namespace zkrecipes::queue::listing

#endif  // ZKRECIPES_LIB_QUEUE_LISTING_OBSERVER_RUNNER_H_

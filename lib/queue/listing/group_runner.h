// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_LISTING_GROUP_RUNNER_H_
#define ZKRECIPES_LIB_QUEUE_LISTING_GROUP_RUNNER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "lib/queue/listing/path_follower.h"
#include "lib/queue/machine/group_view.h"

namespace zkrecipes::queue::listing {

// Drives one GroupView: Follow<GroupRunner>. Its news may repeat.
class GroupRunner : public PathFollower {
 public:
  using News = absl::StatusOr<machine::grouping::action::Tell>;
  using Subscriber = session::Subscriber<News>;

  GroupRunner(std::shared_ptr<internal::ClientCore> core, const std::string& path,
              std::shared_ptr<Subscriber> subscriber);

 private:
  friend class PathFollower;
  void Handle(const machine::observing::Event& event) override;
  void TellLast(absl::Status why) override;
  using PathFollower::Act;
  void Act(const machine::grouping::action::StartPause& start);
  void Act(const machine::grouping::action::Tell& tell);

  const std::shared_ptr<Subscriber> subscriber_;
  machine::grouping::GroupView view_;
};

}  // namespace zkrecipes::queue::listing

#endif  // ZKRECIPES_LIB_QUEUE_LISTING_GROUP_RUNNER_H_

// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/listing/observe.h"

#include <utility>

#include "lib/queue/listing/node_data.h"
#include "lib/queue/listing/path_follower.h"
#include "lib/queue/machine/observer.h"

namespace zkrecipes::queue::listing {
namespace {

bool Same(const LeaderNews& a, const LeaderNews& b) {
  if (!a.ok() || !b.ok()) return false;
  if (!a->has_value() || !b->has_value()) return a->has_value() == b->has_value();
  return (*a)->node == (*b)->node && (*a)->token == (*b)->token && (*a)->value == (*b)->value &&
         (*a)->owner.id == (*b)->owner.id;
}

}  // namespace

Subscription Observe(const std::shared_ptr<internal::ClientCore>& core, const std::string& path,
                     absl::AnyInvocable<void(LeaderNews)> callback) {
  using machine::observing::Observer;
  auto tell = WithoutRepeats<LeaderNews>(std::move(callback), Same);
  return Follow<Observer>(core, path, "observe",
                          [tell = std::move(tell)](const Follower<Observer>::News& news) mutable {
                            if (!news.ok()) return tell(news.status());
                            if (!news->head.has_value()) return tell(std::nullopt);
                            tell(DescribeLeader(*news->head));
                          });
}

}  // namespace zkrecipes::queue::listing

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_LISTING_OBSERVE_H_
#define ZKRECIPES_LIB_QUEUE_LISTING_OBSERVE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"

#include "lib/session/client/client_core.h"
#include "zkrecipes/leader.h"

namespace zkrecipes::queue::listing {

using LeaderNews = absl::StatusOr<std::optional<Leader>>;

// See LeaderElection::Observe.
Subscription Observe(const std::shared_ptr<internal::ClientCore>& core, const std::string& path,
                     absl::AnyInvocable<void(LeaderNews)> callback);

}  // namespace zkrecipes::queue::listing

#endif  // ZKRECIPES_LIB_QUEUE_LISTING_OBSERVE_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_ACQUIRE_PATH_QUEUE_H_
#define ZKRECIPES_LIB_QUEUE_ACQUIRE_PATH_QUEUE_H_

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "lib/session/client/client_core.h"
#include "zkrecipes/acquire_options.h"
#include "zkrecipes/client.h"
#include "zkrecipes/event_listener.h"

namespace zkrecipes::internal {

// A path's queue as one recipe enters it: what all acquires of the recipe have in common, found out
// once. Immutable.
struct PathQueue {
  // `its_owner`: who its contenders say to be; empty: the client's owner_id.
  PathQueue(std::shared_ptr<ClientCore> of, std::string at, const AcquireOptions& its_options = {},
            std::string its_owner = {});
  static std::shared_ptr<const PathQueue> Of(const Client& client, std::string path,
                                             const AcquireOptions& options = {});

  bool has_listeners() const {
    return at_once[0] != nullptr || at_once[1] != nullptr || !later.empty();
  }

  const std::shared_ptr<ClientCore> core;
  const std::string path;        // as the user gave it
  const AcquireOptions options;  // with what the client's say where the recipe's do not
  const std::string owner_id;    // in its contenders' data
  const absl::Status rule;       // that the path or an option breaks: InvalidArgument

  // What hears of its acquires at once, or null (the options own it), and what on the executor.
  std::array<EventListener*, 2> at_once = {};
  std::vector<std::shared_ptr<EventListener>> later;
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_QUEUE_ACQUIRE_PATH_QUEUE_H_

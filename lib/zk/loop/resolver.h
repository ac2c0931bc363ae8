// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_LOOP_RESOLVER_H_
#define ZKRECIPES_LIB_ZK_LOOP_RESOLVER_H_

#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"

#include "lib/zk/seam/server_list.h"
#include "lib/zk/seam/servers.h"

namespace zkrecipes::zk::loop {

// Turns names into addresses, on a thread that may block in the system's resolver.
class Resolver {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<Resolution>) &&>;
  virtual ~Resolver() = default;
  // Runs `done` exactly once, on any thread. Unavailable when no name could be resolved (the
  // message names each with its reason); names that fail while others resolve are left out.
  virtual void Resolve(const std::vector<ServerAddress>& servers, Done done) = 0;
};

// getaddrinfo on a detached thread for each call; numeric addresses are answered without one.
std::shared_ptr<Resolver> SystemResolver();

}  // namespace zkrecipes::zk::loop

#endif  // ZKRECIPES_LIB_ZK_LOOP_RESOLVER_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_RESOLVER_H_
#define ZKRECIPES_LIB_ZK_RESOLVER_H_

#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"

#include "lib/zk/server_list.h"

namespace zkrecipes::zk {

// Numeric addresses, "127.0.0.1:2181" and "[::1]:2181", ready for the C client: shuffled, and odd
// in number (one is repeated where needed), because with an even number the C client spins at 100 %
// CPU and never comes back to a server that refused once.
using NumericServers = std::vector<std::string>;

// One of them; "" for an address of another family.
std::string ToNumeric(const sockaddr& address, socklen_t size);
// That of the socket's other end; "" if it is not connected.
std::string PeerOf(int fd);

// Turns names into addresses, on a thread that may block in the system's resolver.
class Resolver {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<NumericServers>) &&>;
  virtual ~Resolver() = default;
  // Runs `done` exactly once, on any thread. Unavailable when no name could be resolved (the
  // message names each with its reason); names that fail while others resolve are left out.
  virtual void Resolve(const std::vector<ServerAddress>& servers, Done done) = 0;
};

// getaddrinfo on a detached thread for each call; numeric addresses are answered without one.
std::shared_ptr<Resolver> SystemResolver();

// REQUIRES: addresses is not empty. Shuffles from `seed`, removes duplicates, makes the number odd.
NumericServers PrepareForClient(NumericServers addresses, uint64_t seed);

}  // namespace zkrecipes::zk

#endif  // ZKRECIPES_LIB_ZK_RESOLVER_H_

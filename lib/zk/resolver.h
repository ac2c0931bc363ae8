// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_RESOLVER_H_
#define ZKRECIPES_LIB_ZK_RESOLVER_H_

#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"

#include "lib/zk/server_list.h"

namespace zkrecipes::zk {

// Numeric addresses, "127.0.0.1:2181" and "[::1]:2181", in the order in which they are tried.
using NumericServers = std::vector<std::string>;

// One of them; "" for an address of another family.
std::string ToNumeric(const sockaddr& address, socklen_t size);
// The other way round: the size of `address`, or 0 if the text is none. No lookup.
socklen_t FromNumeric(const std::string& numeric, sockaddr_storage& address);

// What became of one server of a list.
struct ListedServer {
  std::string name;          // as it was listed: "zk1:2181"
  NumericServers addresses;  // none: `error` says why
  std::string error;
};
struct Resolution {
  Resolution() = default;
  Resolution(NumericServers all)
      : addresses(std::move(all)) {}  // NOLINT(google-explicit-constructor)

  NumericServers addresses;          // of all of them, each once, shuffled
  std::vector<ListedServer> listed;  // for messages, in the order of the list; may be missing
};

// The names and addresses, without ports, under which servers at `address` are listed; at least its own.
std::vector<std::string> HostsAt(const std::vector<ListedServer>& listed,
                                 const std::string& address);

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

// Removes duplicates and shuffles from `seed`, so that clients spread over the servers.
NumericServers EachOnceShuffled(NumericServers addresses, uint64_t seed);

}  // namespace zkrecipes::zk

#endif  // ZKRECIPES_LIB_ZK_RESOLVER_H_

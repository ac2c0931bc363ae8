// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_LOOP_RESOLVER_H_
#define ZKRECIPES_LIB_ZK_LOOP_RESOLVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "lib/zk/seam/server_list.h"
#include "lib/zk/seam/servers.h"

namespace zkrecipes::zk::loop {

// Turns names into addresses, each by itself: one whose name server is mute delays no other.
class Resolver {
 public:
  using Each = std::function<void(ListedServer)>;
  virtual ~Resolver() = default;
  // Runs `each` once for each server, in any order and on any thread, also before it returns.
  virtual void Resolve(const std::vector<ServerAddress>& servers, Each each) = 0;
  // Chooses the order in which the addresses are tried; 0: as they are listed.
  virtual uint64_t Order() { return 0; }
};

// getaddrinfo, on at most eight threads for the whole process: a name that several clients ask for
// at one time is looked up once. Numeric addresses are answered inline.
std::shared_ptr<Resolver> SystemResolver();

}  // namespace zkrecipes::zk::loop

#endif  // ZKRECIPES_LIB_ZK_LOOP_RESOLVER_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_HOST_H_
#define ZKRECIPES_INTEGRATION_SERVERS_HOST_H_

#include <string>

namespace zkrecipes::faults {

// A place on the network under test: what runs there has a network namespace of its own, so that
// its packets can be told from all others'.
struct Host {
  std::string address;            // "10.77.0.11"
  std::string network_namespace;  // a path that `nsenter --net=` takes
};

}  // namespace zkrecipes::faults

#endif  // ZKRECIPES_INTEGRATION_SERVERS_HOST_H_

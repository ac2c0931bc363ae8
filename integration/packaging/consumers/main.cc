// SPDX-License-Identifier: Apache-2.0
// A service that uses the installed library. Needs no server: the bad address is refused before any
// use.
#include <iostream>

#include "zkrecipes/client.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/version.h"

int main() {
  const auto client = zkrecipes::Client::Connect({.servers = "zk1:no-port"});
  std::cout << "zkrecipes " << ZKRECIPES_VERSION << ": " << client.status() << "\n";
  if (client.ok()) zkrecipes::Lock(*client, "/locks/consumer").Acquire().IgnoreError();
  return absl::IsInvalidArgument(client.status()) ? 0 : 1;
}

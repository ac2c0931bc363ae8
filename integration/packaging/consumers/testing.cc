// SPDX-License-Identifier: Apache-2.0
// A service's own test on real servers. Needs none here: the bad option is refused before any start.
#include <iostream>

#include "zkrecipes/client.h"
#include "zkrecipes/testing/local_ensemble.h"

int main() {
  const auto ensemble = zkrecipes::testing::LocalEnsemble::Start({.servers = 0});
  std::cout << ensemble.status() << "\n";
  if (ensemble.ok()) (void)zkrecipes::Client::Connect({.servers = (*ensemble)->servers()});
  return absl::IsInvalidArgument(ensemble.status()) ? 0 : 1;
}

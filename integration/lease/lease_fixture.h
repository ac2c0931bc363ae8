// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_LEASE_LEASE_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_LEASE_LEASE_FIXTURE_H_

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/partition_fixture.h"
#include "lib/base/boot_time.h"

namespace zkrecipes::integration {

// How often what takes its chances is tried: ZKRECIPES_LEASE_RUNS, or else `in_ci`.
int LeaseRuns(int in_ci);

// "median 12 ms of 30, from 3 to 40"
std::string Spread(std::vector<absl::Duration> all);
std::string Milliseconds(absl::Duration duration);

// Granted, and proven for some time ahead.
bool Proven(const Lease& lease);

// Leases on servers that can be cut off from each other, and then go on serving for kPatience: well
// above the session timeouts, so that the holder's server answers all the time.
class LeaseTest : public PartitionTest {
 protected:
  static constexpr absl::Duration kPatience = absl::Seconds(20);

  static void SetUpTestSuite() { StartEnsemble(kPatience); }

  // Of one member, unless the options name servers.
  static std::shared_ptr<Client> NewClient(int member, ClientOptions options);
  static std::shared_ptr<Client> NewClient(int member, absl::Duration timeout) {
    return NewClient(member, ClientOptions{.session_timeout = timeout});
  }
  // Of any member.
  static std::shared_ptr<Client> NewClient(absl::Duration timeout) {
    return NewClient(0, {.servers = ensemble().local().servers(), .session_timeout = timeout});
  }
  static Lease Acquired(const std::shared_ptr<Client>& client, const std::string& path);
  // Nobody else's.
  static std::string NewPath();
  // Whole again, after a cut or a kill.
  static void MakeWhole();
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_LEASE_LEASE_FIXTURE_H_

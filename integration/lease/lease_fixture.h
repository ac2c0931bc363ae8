// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_LEASE_LEASE_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_LEASE_LEASE_FIXTURE_H_

#include <cstdio>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "integration/fixtures/partition_fixture.h"
#include "lib/base/boot_time.h"

namespace zkrecipes::integration {

// How often to repeat what depends on chance: ZKRECIPES_LEASE_RUNS times, or else `in_ci`.
int LeaseRuns(int in_ci);

absl::Duration Median(std::vector<absl::Duration> all);
// "median 12 ms of 30, from 3 to 40"
std::string Spread(std::vector<absl::Duration> all);
std::string Milliseconds(absl::Duration duration);

// Granted, and proven for some time ahead.
bool Proven(const Lease& lease);

// Leases on servers that go on serving for much longer than the session timeouts when they are cut
// off, so that the holder's server always answers.
class LeaseTest : public PartitionTest {
 protected:
  LeaseTest() : PartitionTest(/*patience=*/absl::Seconds(20)) {}
  std::string NewPath();  // a different one each time
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_LEASE_LEASE_FIXTURE_H_

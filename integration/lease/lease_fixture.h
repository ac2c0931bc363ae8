// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_LEASE_LEASE_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_LEASE_LEASE_FIXTURE_H_

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"

#include "integration/fixtures/partition_fixture.h"
#include "lib/base/boot_time.h"

namespace zkrecipes::integration {

// Trials that depend on chance are repeated ZKRECIPES_LEASE_RUNS times, or else `in_ci` times.
inline int LeaseRuns(int in_ci) {
  int runs = 0;
  const char* wanted = getenv("ZKRECIPES_LEASE_RUNS");
  return wanted != nullptr && absl::SimpleAtoi(wanted, &runs) && runs > 0 ? runs : in_ci;
}

inline std::string Milliseconds(absl::Duration duration) {
  const double milliseconds = absl::ToDoubleMilliseconds(duration);
  return absl::StrFormat("%.*f ms", milliseconds < 10 ? 1 : 0, milliseconds);
}

inline absl::Duration Median(std::vector<absl::Duration> all) {
  std::nth_element(all.begin(), all.begin() + all.size() / 2, all.end());
  return all[all.size() / 2];
}

// "median 12 ms of 30, from 3 to 40"
inline std::string Spread(std::vector<absl::Duration> all) {
  if (all.empty()) return "none";
  std::sort(all.begin(), all.end());
  return absl::StrCat("median ", Milliseconds(Median(all)), " of ", all.size(), ", from ",
                      Milliseconds(all.front()), " to ", Milliseconds(all.back()));
}

// Granted, and proven for some time ahead.
inline bool Proven(const Lease& lease) {
  return lease.state() == Lease::State::kHeld && lease.remaining() > absl::ZeroDuration();
}

// Leases on servers that go on serving for much longer than the session timeouts when they are cut
// off, so that the holder's server always answers.
class LeaseTest : public PartitionTest {
 protected:
  LeaseTest() : PartitionTest(/*patience=*/absl::Seconds(20)) {}
  std::string NewPath() {  // a different one each time
    static int count = 0;
    return absl::StrCat(node_path(), "/", ++count);
  }
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_LEASE_LEASE_FIXTURE_H_

// SPDX-License-Identifier: Apache-2.0

#include "integration/lease/lease_fixture.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace zkrecipes::integration {

int LeaseRuns(int in_ci) {
  int runs = 0;
  const char* wanted = getenv("ZKRECIPES_LEASE_RUNS");
  return wanted != nullptr && absl::SimpleAtoi(wanted, &runs) && runs > 0 ? runs : in_ci;
}

std::string Milliseconds(absl::Duration duration) {
  const double milliseconds = absl::ToDoubleMilliseconds(duration);
  return absl::StrFormat("%.*f ms", milliseconds < 10 ? 1 : 0, milliseconds);
}

absl::Duration Median(std::vector<absl::Duration> all) {
  std::nth_element(all.begin(), all.begin() + all.size() / 2, all.end());
  return all[all.size() / 2];
}

std::string Spread(std::vector<absl::Duration> all) {
  if (all.empty()) return "none";
  std::sort(all.begin(), all.end());
  return absl::StrCat("median ", Milliseconds(Median(all)), " of ", all.size(), ", from ",
                      Milliseconds(all.front()), " to ", Milliseconds(all.back()));
}

bool Proven(const Lease& lease) {
  return lease.state() == Lease::State::kHeld && lease.remaining() > absl::ZeroDuration();
}

std::string LeaseTest::NewPath() {
  static int count = 0;
  return absl::StrCat(node_path(), "/", ++count);
}

}  // namespace zkrecipes::integration

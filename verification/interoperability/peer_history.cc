// SPDX-License-Identifier: Apache-2.0

#include "verification/interoperability/peer_history.h"

#include <algorithm>
#include <ctime>

#include "absl/strings/numbers.h"
#include "gtest/gtest.h"

#include "verification/workload/recorder.h"

namespace zkrecipes::integration {

int64_t BootLessMonotonic() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return history::Now() - (now.tv_sec * 1'000'000'000 + now.tv_nsec);
}

void ReadGrant(const std::vector<std::string>& words, history::Event& event) {
  event.what = history::Event::What::kGrant;
  event.node = words.at(2);
  EXPECT_TRUE(absl::SimpleAtoi(words.at(3), &event.token));
  EXPECT_TRUE(absl::SimpleAtoi(words.at(4), &event.session));
}

int64_t GrantsOf(const Peer& peer) {
  const std::vector<std::string> lines = peer.lines();
  return std::ranges::count_if(lines,
                               [](const std::string& line) { return line.starts_with("grant "); });
}

}  // namespace zkrecipes::integration

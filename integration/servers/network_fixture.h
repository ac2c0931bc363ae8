// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_NETWORK_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_SERVERS_NETWORK_FIXTURE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"

#include "integration/servers/network.h"

namespace zkrecipes::faults {

// Tests of one program on one network; skipped where there can be none, with the reason.
class NetworkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::Status& status = Made().status();
    if (absl::IsFailedPrecondition(status)) GTEST_SKIP() << status.message();
    ASSERT_TRUE(status.ok()) << status;
  }

  static Network& network() { return **Made(); }

 private:
  // The first test makes it, before there are threads.
  static absl::StatusOr<std::unique_ptr<Network>>& Made() {
    static auto made = absl::StatusOr(Network::Make());
    return made;
  }
};

}  // namespace zkrecipes::faults

#endif  // ZKRECIPES_INTEGRATION_SERVERS_NETWORK_FIXTURE_H_

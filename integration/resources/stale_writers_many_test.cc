// SPDX-License-Identifier: Apache-2.0

#include <cstdint>

#include <gtest/gtest.h>

#include "integration/fixtures/ensemble_fixture.h"
#include "integration/resources/kinds.h"
#include "integration/resources/stale_writers_fixture.h"

namespace resources {
namespace {

constexpr int kAttempts = 10'000;
constexpr int kStops = 25;

class ManyStaleWritersTest : public zkrecipes::integration::EnsembleTest {};

TEST_F(ManyStaleWritersTest, AreRefusedTenThousandTimes) {
  const int kinds = static_cast<int>(Kinds().size());
  const auto stores = RunStaleWriters({.servers = servers(),
                                       .path = node_path(),
                                       .stops = kStops,
                                       .writes = 2 * kAttempts / kStops / kinds,
                                       .writers = 4,
                                       .seed = 3});
  ASSERT_TRUE(stores.ok()) << stores.status();
  Print(*stores);
  int64_t refused = 0;
  for (const auto& [name, writes] : *stores) {
    refused += writes.refused;
    EXPECT_GT(writes.refused, 0) << name;
    EXPECT_EQ(writes.admitted, 0) << name;
    EXPECT_EQ(writes.older_seen, 0) << name;
  }
  EXPECT_GE(refused, kAttempts);
}

}  // namespace
}  // namespace resources

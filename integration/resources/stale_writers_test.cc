// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "integration/fixtures/ensemble_fixture.h"
#include "integration/resources/stale_writers_fixture.h"

namespace resources {
namespace {

class StaleWritersTest : public zkrecipes::integration::EnsembleTest {};

TEST_F(StaleWritersTest, AreRefusedByEveryStore) {
  const auto stores = RunStaleWriters({.servers = servers(), .path = node_path(), .stops = 2});
  ASSERT_TRUE(stores.ok()) << stores.status();
  Print(*stores);
  for (const auto& [name, writes] : *stores) {
    EXPECT_GE(writes.refused, 50) << name;
    EXPECT_EQ(writes.admitted, 0) << name;
    EXPECT_EQ(writes.older_seen, 0) << name;
  }
}

TEST_F(StaleWritersTest, CorruptEveryStoreThatDoesNotCheck) {
  const auto stores = RunStaleWriters(
      {.servers = servers(), .path = node_path(), .checked = false, .stops = 2, .seed = 2});
  ASSERT_TRUE(stores.ok()) << stores.status();
  Print(*stores);
  for (const auto& [name, writes] : *stores) {
    EXPECT_EQ(writes.refused, 0) << name;
    EXPECT_GE(writes.admitted, 50) << name;
    EXPECT_GE(writes.older_seen, 1) << name;
  }
}

}  // namespace
}  // namespace resources

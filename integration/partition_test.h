// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_PARTITION_TEST_H_
#define ZKRECIPES_INTEGRATION_PARTITION_TEST_H_

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "gtest/gtest.h"

#include "integration/partitionable_ensemble.h"
#include "integration/zk_session.h"
#include "lib/zk/loop.h"

namespace zkrecipes::integration {

// Tests on three servers with cuttable links and a tick of 500 ms, which the tests of a suite
// share; whole again before each test.
class PartitionTest : public ::testing::Test {
 protected:
  // For SetUpTestSuite. A member that is cut off goes on serving for `patience`.
  static void StartEnsemble(absl::Duration patience);
  static void TearDownTestSuite();

  void SetUp() override;
  // Every session must be destroyed before.
  void TearDown() override;

  static PartitionableEnsemble& ensemble() { return *ensemble_; }
  // Some member that does not lead.
  static int Follower();
  // The member that a session is connected to; -1 if it is to none.
  static int ServerOf(int64_t session);
  // On one member.
  std::unique_ptr<ZkSession> Connect(int member, absl::Duration timeout = absl::Seconds(10));

 private:
  static std::unique_ptr<PartitionableEnsemble> ensemble_;
  std::shared_ptr<zk::Loop> loop_;
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_PARTITION_TEST_H_

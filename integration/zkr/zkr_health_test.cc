// SPDX-License-Identifier: Apache-2.0
//
// `zkr lock --probe` on a real ensemble: a CMD that hangs does not keep its lock.

#include <gmock/gmock.h>

#include "integration/zkr/zkr_fixture.h"

namespace zkrecipes::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ZkrHealthTest : public ZkrTest {
 protected:
  // Its lock is lost by the probe, and CMD is dead by then.
  void ExpectGivenUp(const std::string& probe, const std::string& words) {
    auto zkr = StartLock(Holding("exec sleep 1000"), {"--probe", probe, "--alive-within", "2s"});
    EXPECT_EQ(zkr->Wait(), 70) << probe;
    EXPECT_EQ(zkr->Result()["result"], "lost");
    EXPECT_THAT(zkr->Err(), HasSubstr(words));
    EXPECT_FALSE(life_.IsHeld());
    EXPECT_THAT(Queue(), IsEmpty());
  }
};

TEST_F(ZkrHealthTest, ACommandWithoutASuccessfulProbeIsEndedAndItsLockGivenUp) {
  ExpectGivenUp("exit 3", "the probe failed with exit status 3: without a success within 2s");
}

TEST_F(ZkrHealthTest, AProbeThatHangsIsNoSuccess) {
  ExpectGivenUp("sleep 1000", "the probe gave no answer in ");
}

TEST_F(ZkrHealthTest, ACommandWhoseProbeSucceedsRunsOn) {
  auto zkr =
      StartLock("sleep 8", {"--probe", "test -n \"$ZKR_FENCING_TOKEN\"", "--alive-within", "6s"});
  EXPECT_EQ(zkr->Wait(), 0);
  EXPECT_THAT(zkr->Err(), IsEmpty());
}

}  // namespace
}  // namespace zkrecipes::integration

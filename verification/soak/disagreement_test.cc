// SPDX-License-Identifier: Apache-2.0

#include "verification/soak/disagreement.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace zkrecipes::soak {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(Disagreements, AreWhatAServerSaysWhileItServes) {
  EXPECT_THAT(
      Disagreements(
          "13:51:57.459 [CommitProcessor:3] WARN org.apache.zookeeper.server.DataTree - "
          "Message:Digests are not matching. Value is Zxid. Value:34359738370\n"
          "13:51:57.460 [CommitProcessor:3] INFO org.apache.zookeeper.server.DataTree - other\n"
          "13:52:15.561 [CommitProcessor:3] WARN org.apache.zookeeper.server.DataTree - "
          "[409 times] Message: Digests are not matching. Value is Zxid. Last value:34359739103\n"),
      ElementsAre(StartsWith("13:51:57.459"), StartsWith("13:52:15.561")));
}

TEST(Disagreements, AreNotWhatItSaysWhileItReadsItsFiles) {
  EXPECT_THAT(Disagreements("13:03:07.127 [main] WARN org.apache.zookeeper.server.DataTree - "
                            "Message:Digests are not matching. Value is Zxid. Value:12884901890"),
              IsEmpty());
}

TEST(Disagreements, AreNoneWhereThereAreNoServersFiles) {
  EXPECT_THAT(DisagreementsIn("/nowhere"), IsEmpty());
}

}  // namespace
}  // namespace zkrecipes::soak

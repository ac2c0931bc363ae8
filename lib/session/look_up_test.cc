// SPDX-License-Identifier: Apache-2.0

#include "lib/session/look_up.h"

#include <gmock/gmock.h>

namespace zkrecipes::session {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(LookUp, IsUsefulWithOneAddressAndCompleteWithAllAnswers) {
  LookUp look_up({{"zk1", 1}, {"zk2", 2}});
  EXPECT_FALSE(look_up.useful());
  look_up.Add({"zk2:2", {"10.0.0.2:2"}, ""});
  EXPECT_TRUE(look_up.useful());
  EXPECT_FALSE(look_up.complete());
  look_up.Add({"zk1:1", {}, "no such name"});
  EXPECT_TRUE(look_up.complete());
  EXPECT_EQ(look_up.listed()[0].error, "no such name");
  EXPECT_THAT(look_up.listed()[1].addresses, ElementsAre("10.0.0.2:2"));
}

TEST(LookUp, AServerThatIsListedTwiceIsAnsweredTwice) {
  LookUp look_up({{"zk1", 1}, {"zk1", 1}});
  look_up.Add({"zk1:1", {"10.0.0.1:1"}, ""});
  EXPECT_FALSE(look_up.complete());
  look_up.Add({"zk1:1", {"10.0.0.1:1"}, ""});
  EXPECT_TRUE(look_up.complete());
}

TEST(LookUp, ItsFailureSaysWhatBecameOfEachName) {
  LookUp look_up({{"zk1", 1}, {"::1", 2}});
  look_up.Add({"zk1:1", {}, "no such name"});
  const absl::Status failure = look_up.Failure();
  EXPECT_TRUE(absl::IsUnavailable(failure));
  EXPECT_THAT(std::string(failure.message()),
              HasSubstr("zk1:1: no such name; [::1]:2: not answered"));
}

}  // namespace
}  // namespace zkrecipes::session

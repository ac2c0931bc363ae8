// SPDX-License-Identifier: Apache-2.0

#include "lib/session/reach.h"

#include "gtest/gtest.h"

namespace zkrecipes::session {
namespace {

TEST(Reach, SaysHowLongThereIsNoConnectionAndWhyOnceThatIsKnown) {
  const base::BootTime start;
  Reach reach(start);
  reach.Set(true, absl::OkStatus(), start);
  EXPECT_EQ(reach.CutOff(start), std::nullopt);
  reach.Set(false, absl::OkStatus(), start);
  EXPECT_EQ(reach.CutOff(start), "no connection to the ensemble");
  EXPECT_EQ(reach.CutOff(start + absl::Seconds(2)), "no connection to the ensemble for 2s");
  reach.Set(false, absl::UnavailableError("refused"), start + absl::Seconds(2));
  EXPECT_EQ(reach.CutOff(start + absl::Milliseconds(2100)),
            "no connection to the ensemble for 2.1s: refused");
}

}  // namespace
}  // namespace zkrecipes::session

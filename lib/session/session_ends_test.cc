// SPDX-License-Identifier: Apache-2.0

#include "lib/session/session_ends.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zkrecipes::session {
namespace {

using testing::HasSubstr;

constexpr absl::Duration kTimeout = absl::Seconds(6);

base::BootTime At(double seconds) { return base::BootTime::SinceBoot(absl::Seconds(seconds)); }

// At 1 s, session 7 is asked to end; a second session begins at `next`.
SessionEnds Ended(bool confirmed, double next) {
  SessionEnds ends;
  ends.Began(7, At(0));
  ends.Asked(At(1));
  ends.Ended(confirmed);
  ends.Began(8, At(next));
  return ends;
}

TEST(SessionEnds, ALineGoesOnInASessionThatBeginsWithinASecondOfAConfirmedEnd) {
  EXPECT_EQ(Ended(/*confirmed=*/true, 1.9).line(), 7);
  EXPECT_EQ(Ended(/*confirmed=*/true, 2.0).line(), 8) << "servers may have been set back";
  EXPECT_EQ(Ended(/*confirmed=*/false, 1.9).line(), 8);
}

TEST(SessionEnds, CloseCountsUnconfirmedNodesUntilTheirSessionMustBeOver) {
  SessionEnds ends;
  ends.NotConfirmed(At(10), kTimeout);
  ends.NotConfirmed(At(11), kTimeout);
  ends.Ended(true);
  const auto close = [&ends](double at) {
    return ends.OfClose(At(at), kTimeout, 0, absl::OkStatus());
  };
  EXPECT_THAT(std::string(close(1e6).message()), HasSubstr("the deletion of 2 node(s)"));
  EXPECT_EQ(ends.OfClose(At(11), kTimeout, /*left=*/3, absl::OkStatus()), close(11))
      << "told first, whatever else is left";
  ends.Began(9, At(20));
  ends.Began(10, At(25));  // a later one moves nothing
  EXPECT_EQ(close(30.1).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(ends.OfClose(At(30.1), kTimeout / 3, 0, absl::OkStatus()).ok())
      << "it is their session's timeout, whatever the next one's is";
  EXPECT_TRUE(close(30.3).ok());
  ends.NotConfirmed(At(31), kTimeout);
  EXPECT_THAT(std::string(close(32).message()), HasSubstr("the deletion of 1 node(s)"));
}

TEST(SessionEnds, CloseSaysWhatNoServerHasConfirmed) {
  SessionEnds ends;
  const auto close = [&ends](size_t left, const absl::Status& trouble) {
    return std::string(ends.OfClose(At(1), kTimeout, left, trouble).message());
  };
  EXPECT_THAT(close(3, absl::OkStatus()), HasSubstr("3 node(s) could not be confirmed"));
  EXPECT_THAT(close(0, absl::UnavailableError("zk1 closed")), HasSubstr("after 6s (zk1 closed)"));
  ends.Ended(true);
  EXPECT_TRUE(ends.OfClose(At(1), kTimeout, 3, absl::OkStatus()).ok());
}

}  // namespace
}  // namespace zkrecipes::session

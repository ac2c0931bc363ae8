// SPDX-License-Identifier: Apache-2.0

#include "lib/session/client/known_paths.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

namespace zkrecipes::session::client {
namespace {

const base::BootTime kFirst;
const base::BootTime kLater = kFirst + absl::Seconds(1);

// As servers that were set back give the numbers of a record once more.
TEST(KnownPaths, BeginALockDelayAnewForAnotherHolderWhateverItsRecordsNumbers) {
  KnownPaths paths;
  EXPECT_EQ(paths.DelayBegan("/q", {9, 7, 1, "one"}, kFirst), kFirst);
  EXPECT_EQ(paths.DelayBegan("/q", {9, 7, 1, "one"}, kLater), kFirst);
  EXPECT_EQ(paths.DelayBegan("/q", {9, 7, 1, "two"}, kLater), kLater);
}

TEST(KnownPaths, BeginALockDelayAnewInAnotherSession) {
  KnownPaths paths;
  EXPECT_EQ(paths.DelayBegan("/q", {9, 7, 1, "one"}, kFirst), kFirst);
  EXPECT_EQ(paths.DelayBegan("/q", {10, 7, 1, "one"}, kLater), kLater);
  EXPECT_EQ(paths.DelayBegan("/q", {9, 7, 1, "one"}, kLater), kFirst) << "they take turns";
}

TEST(KnownPaths, ForgetNoLockDelayThatIsAskedForAgain) {
  KnownPaths paths;
  for (int i = 0; i < 10'000; ++i) (void)paths.DelayBegan(absl::StrCat("/q", i), {}, kFirst);
  EXPECT_EQ(paths.DelayBegan("/q7", {}, kLater), kFirst);
  EXPECT_EQ(paths.DelayBegan("/another", {}, kLater), kLater);  // now there are too many
  EXPECT_EQ(paths.DelayBegan("/q7", {}, kLater), kLater);
}

}  // namespace
}  // namespace zkrecipes::session::client

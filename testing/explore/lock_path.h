// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_EXPLORE_LOCK_PATH_H_
#define ZKRECIPES_TESTING_EXPLORE_LOCK_PATH_H_

namespace zkrecipes::testing::explore {

// What everybody in a Scene wants.
inline constexpr char kLockPath[] = "/q";

}  // namespace zkrecipes::testing::explore

#endif  // ZKRECIPES_TESTING_EXPLORE_LOCK_PATH_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_EXPLORE_SCHEDULES_LOCK_PATH_H_
#define ZKRECIPES_EXPLORE_SCHEDULES_LOCK_PATH_H_

namespace zkrecipes::explore::schedules {

// What everybody in a Scene wants.
inline constexpr char kLockPath[] = "/q";

}  // namespace zkrecipes::explore::schedules

#endif  // ZKRECIPES_EXPLORE_SCHEDULES_LOCK_PATH_H_

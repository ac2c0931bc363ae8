// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SCHEDULES_LOCK_PATH_H_
#define ZKRECIPES_VERIFICATION_SCHEDULES_LOCK_PATH_H_

namespace zkrecipes::explore::schedules {

// What everybody in a Scene wants.
inline constexpr char kLockPath[] = "/q";

}  // namespace zkrecipes::explore::schedules

#endif  // ZKRECIPES_VERIFICATION_SCHEDULES_LOCK_PATH_H_

// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fencing/redis_script.h"

#include "gmock/gmock.h"

namespace zkrecipes {
namespace {

// The second and third are as Redis 5 and 6 say it of a call in a script.
TEST(RedisErrorStatus, TellsWhatMayBeTriedAgain) {
  for (const char* error :
       {"READONLY You can't write against a read only replica.",
        "ERR Error running script (call to f_131531b4036f85d132c8d9f71b2b81aa841fdf5f): "
        "@user_script:38: @user_script: 38: -READONLY You can't write against a read only replica.",
        "@user_script: 40: -OOM command not allowed when used memory > 'maxmemory'."}) {
    EXPECT_TRUE(absl::IsUnavailable(RedisErrorStatus(error))) << error;
  }
  EXPECT_TRUE(absl::IsPermissionDenied(RedisErrorStatus("NOPERM this user has no permissions")));
  EXPECT_TRUE(absl::IsPermissionDenied(RedisErrorStatus("@user_script: 40: -NOPERM denied")));
  for (const char* error : {"WRONGTYPE Operation against a key", "ERR no such command 'OOM'"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(RedisErrorStatus(error))) << error;
  }
}

TEST(RedisErrorStatus, KnowsAKindByItsWholeWord) {
  for (const char* error :
       {"BUSYGROUP Consumer Group name already exists", "BUSYKEY Target key name already exists.",
        "@user_script: 40: -BUSYKEY Target key name already exists."}) {
    EXPECT_TRUE(absl::IsInvalidArgument(RedisErrorStatus(error))) << error;
  }
  for (const char* error :
       {"BUSY Redis is busy running a script.", "ERR max number of clients reached"}) {
    EXPECT_TRUE(absl::IsUnavailable(RedisErrorStatus(error))) << error;
  }
}

}  // namespace
}  // namespace zkrecipes

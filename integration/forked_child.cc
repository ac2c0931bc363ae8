// SPDX-License-Identifier: Apache-2.0

#include "integration/forked_child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include <gtest/gtest.h>

namespace {

// What only the parent's threads know is leaked in a forked child, on purpose.
bool is_forked_child = false;

}  // namespace

// Asked by LeakSanitizer at the end of a process, where there is one.
extern "C" int __lsan_is_turned_off() { return is_forked_child ? 1 : 0; }  // NOLINT

namespace zkrecipes::integration {

void RunInForkedChild(const std::function<void()>& child) {
  const pid_t pid = fork();
  if (pid == 0) {
    is_forked_child = true;
    alarm(60);
    child();
    exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 1;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0) << "how the forked child ended";
}

}  // namespace zkrecipes::integration

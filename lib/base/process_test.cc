// SPDX-License-Identifier: Apache-2.0

#include "lib/base/process.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace zkrecipes::base {
namespace {

// What `ask` answers in a forked child.
template <typename F>
bool InAChild(F ask) {
  const pid_t child = fork();
  if (child == 0) _exit(ask() ? 1 : 0);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

TEST(HomeProcess, IsTheOneThatMadeTheObject) {
  const HomeProcess home;
  EXPECT_TRUE(home.IsThisProcess());
  EXPECT_TRUE(InAChild([] { return HomeProcess().IsThisProcess(); }));
}

TEST(HomeProcess, IsNotAForkedChild) {
  const HomeProcess home;
  EXPECT_FALSE(InAChild([&home] { return home.IsThisProcess(); }));
}

// As the first process of a container does: parent and child both have number 1.
TEST(HomeProcess, IsNotAChildWithTheSameProcessId) {
  if (geteuid() != 0) GTEST_SKIP() << "needs the right to make a PID namespace";
  const HomeProcess home;
  // In children only, since a process that has made a namespace has all its further children there.
  EXPECT_FALSE(InAChild([&home] {
    return unshare(CLONE_NEWPID) != 0 || InAChild([&home] {
             if (getpid() != 1) return true;
             const HomeProcess first;
             return unshare(CLONE_NEWPID) != 0 || InAChild([&] {
                      return getpid() != 1 || first.IsThisProcess() || home.IsThisProcess();
                    });
           });
  }));
}

TEST(Leak, KeepsWhatIsSharedAlive) {
  auto shared = std::make_shared<int>(7);
  const std::weak_ptr<int> weak = shared;
  Leak(std::move(shared));
  EXPECT_EQ(weak.use_count(), 1);
}

}  // namespace
}  // namespace zkrecipes::base

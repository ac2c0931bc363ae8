// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/cgroup.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"

namespace zkrecipes::zkr::supervisor {
namespace {

constexpr char kMounts[] =
    "31 23 0:26 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro\n"
    "32 31 0:27 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw\n"
    "33 31 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

TEST(Cgroup, IsFoundBelowTheMountOfVersionTwo) {
  EXPECT_EQ(Cgroup::DirectoryOf("4:memory:/x\n0::/a.slice/b.service\n", kMounts),
            "/sys/fs/cgroup/unified/a.slice/b.service");
  EXPECT_EQ(Cgroup::DirectoryOf("0::/\n", kMounts), "/sys/fs/cgroup/unified");
}

TEST(Cgroup, IsFoundWhereOnlyAPartIsMounted) {
  const std::string part = "32 31 0:27 /docker/7 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
  EXPECT_EQ(Cgroup::DirectoryOf("0::/docker/7/job\n", part), "/sys/fs/cgroup/job");
  EXPECT_EQ(Cgroup::DirectoryOf("0::/elsewhere\n", part), "");
}

TEST(Cgroup, IsNotFoundWhereThereIsNoneOrNoneThatIsShown) {
  EXPECT_EQ(Cgroup::DirectoryOf("4:memory:/x\n", kMounts), "");
  EXPECT_EQ(Cgroup::DirectoryOf("0::/../sibling\n", kMounts), "");
  EXPECT_EQ(Cgroup::DirectoryOf("0::/\n", "33 31 0:28 / /m rw - cgroup cgroup rw\n"), "");
}

TEST(Cgroup, KillsWhatJoinedItAndLeavesNothing) {
  const Cgroup cgroup = Cgroup::Make();
  if (!cgroup.valid()) GTEST_SKIP() << "this machine lets us make no cgroup of version 2";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (!cgroup.Join() || fork() < 0 || write(ends[1], "1", 1) != 1) _exit(1);
    for (;;) pause();
  }
  close(ends[1]);
  char byte = 0;
  ASSERT_EQ(read(ends[0], &byte, 1), 1);
  EXPECT_FALSE(cgroup.Empty());
  EXPECT_FALSE(cgroup.Members().empty());
  cgroup.Kill();
  while (read(ends[0], &byte, 1) > 0) {  // to the end: both are dead
  }
  close(ends[0]);
  waitpid(child, nullptr, 0);
  while (!cgroup.Empty()) usleep(1000);
  EXPECT_TRUE(cgroup.Members().empty());
  cgroup.Remove();
  EXPECT_TRUE(cgroup.Empty());
}

}  // namespace
}  // namespace zkrecipes::zkr::supervisor

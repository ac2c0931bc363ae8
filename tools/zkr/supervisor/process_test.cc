// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/process.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "gmock/gmock.h"

namespace zkrecipes::zkr::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Pid, parent, group.
ProcessInfo P(pid_t pid, pid_t parent, pid_t group) { return {pid, parent, group}; }

TEST(ParseStat, ReadsPastANameThatLooksLikeTheRest) {
  const auto info = ParseStat("77 (a) R 1 (b)) S 5 6 7 0 -1\n");
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->pid, 77);
  EXPECT_EQ(info->parent, 5);
  EXPECT_EQ(info->group, 6);
  EXPECT_FALSE(info->IsZombie());
  EXPECT_EQ(info->name, "a) R 1 (b)");
}

TEST(ParseStat, KnowsTheDead) { EXPECT_TRUE(ParseStat("8 (x) Z 1 8 8")->IsZombie()); }

TEST(ParseStat, RefusesWhatIsNoStat) {
  EXPECT_FALSE(ParseStat("").has_value());
  EXPECT_FALSE(ParseStat("no parenthesis").has_value());
  EXPECT_FALSE(ParseStat("12 (cut off").has_value());
  EXPECT_FALSE(ParseStat("12 (cut) S 5").has_value());
}

TEST(Descendants, AreListedParentsFirst) {
  EXPECT_THAT(Descendants({P(4, 3, 1), P(3, 2, 1), P(2, 1, 1), P(9, 1, 1)}, 2), ElementsAre(3, 4));
}

TEST(Descendants, EndInAListWithACircle) {
  EXPECT_THAT(Descendants({P(2, 3, 1), P(3, 2, 1)}, 2), ElementsAre(3));
}

// Whatever the order: pids wrap, so an inner one may be the first in /proc.
TEST(Runner, IsTheChildOfTheGuardThatIsAChildOfThatZkr) {
  const auto named = [](pid_t pid, pid_t parent, const char* name) {
    return ProcessInfo{pid, parent, pid, 'S', name};
  };
  const std::vector<ProcessInfo> all = {
      named(2, 8, "lock-guard"),  named(3, 2, "lock-runner"),  // of the zkr below CMD
      named(4, 1, "lock-guard"),  named(5, 6, "lock-runner"),  // whose guard has been killed
      named(6, 4, "lock-runner"), named(7, 6, "cmd"),         named(8, 7, "zkr")};
  EXPECT_EQ(RunnerOf(all, 1), 6);
  EXPECT_EQ(RunnerOf(all, 8), 3);
  EXPECT_EQ(RunnerOf(all, 7), -1);
}

TEST(Siblings, AreNeitherAncestorsNorOtherGroups) {
  // A shell (group 10) runs a script, which runs zkr (12) in its own group; 13 is zkr's guard.
  EXPECT_FALSE(HasSiblingInGroup({P(10, 1, 10), P(11, 10, 11), P(12, 11, 11), P(13, 12, 13)}, 12));
}

TEST(Siblings, AreTheOtherPartsOfAPipeline) {
  EXPECT_TRUE(HasSiblingInGroup({P(10, 1, 10), P(12, 10, 12), P(13, 10, 12)}, 12));
}

TEST(Siblings, DoNotCountOnceDead) {
  ProcessInfo dead = P(13, 10, 12);
  dead.state = 'Z';
  EXPECT_FALSE(HasSiblingInGroup({P(10, 1, 10), P(12, 10, 12), dead}, 12));
}

TEST(ListProcesses, FindsThisOne) {
  const auto processes = ListProcesses();
  const auto self = std::find_if(processes.begin(), processes.end(),
                                 [](const ProcessInfo& p) { return p.pid == getpid(); });
  ASSERT_NE(self, processes.end());
  EXPECT_EQ(self->parent, getppid());
  EXPECT_EQ(self->group, getpgrp());
}

TEST(OwnDescendants, AreFoundDownToGrandchildren) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild != 0 && write(ends[1], &grandchild, sizeof(grandchild)) < 0) _exit(1);
    for (;;) pause();
  }
  pid_t grandchild = 0;
  ASSERT_EQ(read(ends[0], &grandchild, sizeof(grandchild)), static_cast<ssize_t>(sizeof(pid_t)));
  EXPECT_THAT(OwnDescendants(), UnorderedElementsAre(child, grandchild));
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  KillTree(Cgroup());
  EXPECT_THAT(OwnDescendants(), IsEmpty());
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  close(ends[0]);
  close(ends[1]);
}

TEST(KillTree, IsDoneAtOnceWithoutAny) { KillTree(Cgroup()); }

TEST(Proc, ShowsThisProcess) { EXPECT_TRUE(ProcShowsThisProcess()); }

TEST(ListProcesses, PassesOverAProcessThatEndsWhileItIsRead) {
  const std::filesystem::path proc =
      std::filesystem::temp_directory_path() / ("zkr_proc." + std::to_string(getpid()));
  // Opens well and cannot be read: so is the stat of a process that has just ended.
  std::filesystem::create_directories(proc / "7" / "stat");
  EXPECT_TRUE(ListProcesses(proc).empty());
  std::filesystem::remove_all(proc);
}

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

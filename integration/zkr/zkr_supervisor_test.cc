// SPDX-License-Identifier: Apache-2.0

// The command's environment, streams and status, while nothing is wrong with the lock.

#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "gmock/gmock.h"

#include "integration/fixtures/stall.h"
#include "integration/zkr/zkr_supervisor_fixture.h"
#include "tools/zkr/supervisor/process.h"

namespace zkrecipes::testing {
namespace {

using ::testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(Guard, Supervised, ::testing::Values("cgroup", "process"),
                         [](const auto& instance) { return instance.param; });

TEST_P(Supervised, EndsWithTheCommandsStatus) {
  EXPECT_EQ(Program(Shell("exit 3")).Wait(), 3);
  EXPECT_EQ(Program(Shell("exit 0")).Wait(), 0);
  EXPECT_EQ(Program(Shell("kill -9 $$")).Wait(), 128 + SIGKILL);
  EXPECT_EQ(Program(Shell("kill -TERM $$")).Wait(), 128 + SIGTERM);
}

TEST_P(Supervised, SaysWhyACommandCannotBeRun) {
  for (const auto& [command, why] : std::map<std::string, std::string>{
           {"/no/such/command", "No such file"}, {"/etc/passwd", "Permission denied"}}) {
    Program program(Driver("5s", "1h", {command}));
    EXPECT_EQ(program.Wait(), 126);
    EXPECT_THAT(program.Err(), HasSubstr(why));
  }
}

TEST_P(Supervised, AddsToTheEnvironment) {
  Program program(Shell("echo \"$ZKR_TEST|${ZKR_EMPTY-unset}|$MINE\""),
                  {.environment = {{"MINE", "yes"}}});
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_EQ(program.Out(), "a b=c||yes\n");
}

TEST_P(Supervised, LeaksNoDescriptorAndPassesOnTheUsers) {
  const auto with_seven = [] { dup2(2, 7); };
  EXPECT_THAT(ExpectSameAsUnguarded("ls /proc/self/fd", with_seven), HasSubstr("7\n"));
}

TEST_P(Supervised, StreamsThatAreClosedStayClosedForTheCommand) {
  for (const std::vector<int>& closed : std::vector<std::vector<int>>{{0}, {1}, {2}, {0, 1, 2}}) {
    std::string left = "012";
    for (const int fd : closed) left.erase(left.find(std::to_string(fd)), 1);
    const std::string name = dir_ / ("left-" + left + "-found-");
    const std::string script =
        "for i in 0 1 2; do [ -e /proc/$$/fd/$i ] && found=$found$i; done; mkdir " + name +
        "$found";
    Program program(Shell(script), {.in_child = [closed] {
                      for (const int fd : closed) close(fd);
                    }});
    EXPECT_EQ(program.Wait(), 0);
    EXPECT_EQ(access((name + left).c_str(), F_OK), 0) << left;
  }
}

TEST_P(Supervised, StartsTheCommandWithTheSignalStateOfZkr) {
  const auto unusual = [] {
    signal(SIGHUP, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    sigprocmask(SIG_BLOCK, &blocked, nullptr);
  };
  ExpectSameAsUnguarded("grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status", unusual);
}

TEST_P(Supervised, EndsWhatTheCommandLeavesBehindBeforeItReturns) {
  Program program(
      Shell(Holding(Stubborn("TERM") + "(sleep 1000; echo never >&9) & " + UntilGo() + "exit 5"),
            "300ms"));
  ASSERT_TRUE(life_.WaitFor("deep"));
  Go();
  EXPECT_EQ(program.Wait(), 5);
  EXPECT_FALSE(life_.IsHeld());
}

TEST_P(Supervised, LetsWhatIsAboutToEndFinish) {
  const std::string late = dir_ / "late";
  EXPECT_EQ(integration::Undisturbed([&] {
              std::filesystem::remove(late);
              // Until CMD has been waited for, it is there.
              Program program(
                  Shell("(while [ -e /proc/$$ ]; do :; done; echo done > " + late + ") & exit 0"));
              EXPECT_EQ(program.Wait(), 0);
              return ReadFile(late);
            }),
            "done\n");
}

TEST_P(Supervised, CutsTheGraceOfLeftoversShortWhenAskedToEnd) {
  auto program = StartLeavingOneBehind("1h");
  program->Signal(SIGTERM);
  EXPECT_EQ(program->Wait(), 1000 + SIGTERM);
  EXPECT_FALSE(life_.IsHeld());
}

TEST_P(Supervised, KeepsTheLockOverAKillStopOfTheCommand) {
  auto program = StartHolding(
      "trap : USR1 USR2 ALRM WINCH; echo ready >&9; kill -STOP $$; echo continued >&9; exit 8");
  const pid_t command = DescendantOf(program->pid(), "sh");
  ASSERT_TRUE(Eventually([&] { return StateOf(command) == 'T'; }));
  // zkr hears of it in its own time: after a few round trips it has. Were it stopped, it would pass
  // nothing on.
  for (const int signal : {SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH}) {
    program->Signal(signal);
    ASSERT_TRUE(Eventually([&] { return IsPending(command, signal); })) << signal;
  }
  EXPECT_EQ(StateOf(command), 'T');
  program->Signal(SIGCONT);
  ASSERT_TRUE(life_.WaitFor("continued"));
  EXPECT_EQ(program->Wait(), 8);
}

// As docs/zkr.md says: what no guard without a cgroup could kill dies with the namespace's first
// process.
TEST(PidNamespace, OfUnshareDiesThoughZkrGuardAndRunnerAreKilledAtOnce) {
  if (!MayMakeNamespaces()) GTEST_SKIP() << kNoNamespaces;
  TempDir dir;
  LifeLine life(dir / "life");
  Program program({ZKRECIPES_BIN_DIR "/zkr-supervise", "process", "5s", "1h", "--", "unshare",
                   "--pid", "--fork", "--kill-child", "sh", "-c",
                   "exec 9>" + life.path() + "; " + Stubborn("TERM HUP") +
                       "echo first is $$ >&9; while :; do sleep 1; done"});
  ASSERT_TRUE(life.WaitFor("first is 1\n"));
  ASSERT_TRUE(life.WaitFor("deep"));
  std::vector<pid_t> all = {program.pid()};
  for (const char* name : {"lock-guard", "lock-runner"}) {
    all.push_back(DescendantOf(program.pid(), name));
    ASSERT_NE(all.back(), 0) << name;
  }
  for (const pid_t pid : all) StopProcess(pid);  // none of them sees another's end
  for (const pid_t pid : all) kill(pid, SIGKILL);
  EXPECT_TRUE(life.WaitUntilCut());
}

TEST(Guard, RefusesToBeOneWhereItSeesNoProcesses) {
  if (!MayMakeNamespaces()) GTEST_SKIP() << kNoNamespaces;
  const auto without_proc = [] {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(nullptr, "/", nullptr, MS_PRIVATE | MS_REC, nullptr) != 0 ||
        umount2("/proc", MNT_DETACH) != 0) {
      _exit(99);
    }
  };
  for (const char* kind : {"process", "auto"}) {
    Program program({ZKRECIPES_BIN_DIR "/zkr-supervise", kind, "5s", "1h", "--", "echo", "ran"},
                    {.in_child = without_proc});
    EXPECT_EQ(program.Wait(), 126) << kind;
    EXPECT_THAT(program.Err(), HasSubstr("/proc is missing")) << kind;
    EXPECT_EQ(program.Out(), "") << kind;
  }
}

TEST(Guard, RefusesToStartWithoutDescriptors) {
  for (rlim_t limit = 6; limit <= 16; ++limit) {
    Program program({ZKRECIPES_BIN_DIR "/zkr-supervise", "auto", "5s", "1h", "--", "true"},
                    {.in_child = [limit] {
                      const rlimit files{limit, limit};
                      setrlimit(RLIMIT_NOFILE, &files);
                    }});
    const int status = program.Wait();
    EXPECT_TRUE(status == 126 || status == 0) << limit << ": " << status;
    if (status == 126) {
      EXPECT_THAT(program.Err(), HasSubstr("Too many open files")) << limit;
    }
  }
}

TEST(Guard, ReapsOrphansAllTheTimeAsTheFirstProcessOfAContainer) {
  if (!MayMakeNamespaces()) GTEST_SKIP() << kNoNamespaces;
  TempDir dir;
  LifeLine life(dir / "life");
  Program program({"unshare", "--pid", "--fork", "--mount-proc", ZKRECIPES_BIN_DIR "/zkr-supervise",
                   "auto", "5s", "1h", "--", "sh", "-c",
                   "exec 9>" + life.path() +
                       "; trap 'exit 6' TERM; echo ready >&9; "
                       "while :; do sleep 0.01; done"});
  ASSERT_TRUE(life.WaitFor("ready"));
  const pid_t init = DescendantOf(program.pid(), "zkr-supervise");
  ASSERT_NE(init, 0);
  const auto zombies = [&] {
    return std::ranges::count_if(zkr::supervisor::ListProcesses(),
                                 [&](const auto& p) { return p.parent == init && p.IsZombie(); });
  };
  // As `docker exec` does: into the namespace, where the process's orphans are PID 1's.
  const std::string orphan = "(sh -c \"echo $$ >" + (dir / "orphan") + "; exec sleep 0.1\" &)";
  EXPECT_EQ(RunToEnd({"nsenter", "-t", std::to_string(init), "-p", "sh", "-c", orphan}).status, 0);
  ASSERT_TRUE(Eventually([&] { return ReadFile(dir / "orphan") != ""; }));
  EXPECT_TRUE(Eventually([&] {
    const auto all = zkr::supervisor::ListProcesses();
    return std::ranges::none_of(
        all, [&](const auto& p) { return p.parent == init && NameOf(p.pid) == "sleep"; });
  }));
  EXPECT_EQ(zombies(), 0);
  kill(init, SIGTERM);
  EXPECT_EQ(program.Wait(), 6);
}

// As when ctest kills a program whose time is over.
TEST(Program, LeavesNothingBehindWhenItsTestIsKilled) {
  TempDir dir;
  LifeLine life(dir / "life");
  const pid_t test = fork();
  ASSERT_GE(test, 0);
  if (test == 0) {
    const std::string tree = "exec 9>" + life.path() + "; " + Stubborn("TERM HUP");
    const Program guarded({ZKRECIPES_BIN_DIR "/zkr-supervise", "process", "5s", "1h", "--", "sh",
                           "-c", tree + "exec sleep 1000"});
    const Program orphaned({"sh", "-c", tree + "exit"});
    pause();
  }
  ASSERT_TRUE(life.WaitFor("deep\ndeep\n"));
  kill(test, SIGKILL);
  EXPECT_EQ(waitpid(test, nullptr, 0), test);
  EXPECT_TRUE(life.WaitUntilCut());
}

void BecomeNobody() {
  if (setgroups(0, nullptr) != 0 || setgid(65534) != 0 || setuid(65534) != 0) _exit(99);
}

TEST(Guard, IsAProcessForThoseWhoMayMakeNoCgroup) {
  if (getuid() != 0)
    GTEST_SKIP() << "only root can become the user without rights whom this is about: run as root";
  TempDir dir;
  LifeLine life(dir / "life");
  // A copy, since that user may not look into root's home, where the build may be.
  const std::string supervise = dir / "zkr-supervise";
  std::filesystem::copy_file(ZKRECIPES_BIN_DIR "/zkr-supervise", supervise);
  Program program({supervise, "auto", "5s", "1h", "--", "sh", "-c",
                   "exec 9>" + life.path() +
                       "; (setsid sleep 1000 &); grep NSpid /proc/self/status; "
                       "echo ready >&9; sleep 1000"},
                  {.in_child = BecomeNobody});
  ASSERT_TRUE(life.WaitFor("ready"));
  // As many pids as we have: there is no namespace of its own.
  Program direct({"grep", "NSpid", "/proc/self/status"});
  ASSERT_EQ(direct.Wait(), 0);
  const auto tabs = [](const std::string& line) {
    return std::count(line.begin(), line.end(), '\t');
  };
  EXPECT_EQ(tabs(program.Out()), tabs(direct.Out()));
  program.Signal(SIGKILL);
  EXPECT_TRUE(life.WaitUntilCut());
}

TEST(Guard, TellsOfAChildOfAnotherUserForWhichItWaits) {
  if (getuid() != 0) GTEST_SKIP() << "only root can make a program that runs as another user";
  TempDir dir;
  const std::string supervise = dir / "zkr-supervise", setpriv = dir / "setpriv";
  std::filesystem::copy_file(ZKRECIPES_BIN_DIR "/zkr-supervise", supervise);
  std::filesystem::copy_file("/usr/bin/setpriv", setpriv);
  chmod(setpriv.c_str(), 04755);
  Program root_again({setpriv, "--reuid", "0", "--clear-groups", "true"},
                     {.in_child = BecomeNobody});
  if (root_again.Wait() != 0)
    GTEST_SKIP() << "a program of root's does not run as root here: nosuid, or no other users";
  Program program({supervise, "process", "100ms", "1h", "--", "sh", "-c",
                   setpriv + " --reuid 0 --clear-groups sleep 12 & exit 3"},
                  {.in_child = BecomeNobody});
  EXPECT_EQ(program.Wait(), 3);
  EXPECT_THAT(program.Err(), HasSubstr("cannot be killed"));
}

}  // namespace
}  // namespace zkrecipes::testing

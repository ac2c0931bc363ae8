// SPDX-License-Identifier: Apache-2.0

// What the command gets and gives, while nothing is wrong with the lock.

#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"

#include "integration/zkr/zkr_supervisor_fixture.h"
#include "tools/zkr/supervisor/process_tree.h"

namespace zkrecipes::testing {
namespace {

using ::testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(Guard, Supervised, ::testing::Values("cgroup", "process", "isolate"),
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

TEST_P(Supervised, PassesSignalsOnToTheWholeProcessGroup) {
  const std::map<std::string, int> signals = {
      {"TERM", SIGTERM}, {"INT", SIGINT},   {"HUP", SIGHUP},   {"QUIT", SIGQUIT},
      {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"ALRM", SIGALRM}, {"WINCH", SIGWINCH}};
  for (const auto& [name, signal] : signals) {
    LifeLine line(dir_ / name);
    const auto member = [&, trap = name](const std::string& answer) {
      return absl::StrCat("sh -c 'trap \"echo ", answer, " >&9; exit\" ", trap,
                          "; echo ready >&9; while :; do sleep 0.01; done'");
    };
    Program program(Shell(absl::StrCat("exec 9>", line.path(), "; trap : ", name, "; ",
                                       member("one"), " | ", member("two"), "; exit 7")));
    ASSERT_TRUE(line.WaitFor("ready\nready\n")) << name;
    program.Signal(signal);
    EXPECT_TRUE(line.WaitFor("one")) << name;
    EXPECT_TRUE(line.WaitFor("two")) << name;
    EXPECT_EQ(program.Wait(), 7) << name;
  }
}

// CMD that ends, once no SIGTERM has come for a second, with the number of those that came.
constexpr char kCountsSigterms[] =
    "import signal, sys\n"
    "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})\n"
    "open(sys.argv[1], 'w').write('ready')\n"
    "signal.sigwait({signal.SIGTERM})\n"
    "count = 1\n"
    "while signal.sigtimedwait({signal.SIGTERM}, 1): count += 1\n"
    "sys.exit(count)\n";

// As systemd's KillMode=control-group does, and `kill -TERM -1`.
TEST_P(Supervised, ASignalToTheWholeTreeReachesTheCommandOnce) {
  for (const bool zkr_first : {true, false}) {
    const std::string file = dir_ / (zkr_first ? "first" : "last");
    Program program(Driver("30s", "1h", {"python3", "-c", kCountsSigterms, file}));
    ASSERT_TRUE(Eventually([&] { return ReadFile(file) == "ready"; }));
    std::vector<pid_t> all = zkr::Descendants(zkr::ListProcesses(), program.pid());
    ASSERT_GE(all.size(), 3u);  // guard, runner, CMD
    all.insert(zkr_first ? all.begin() : all.end(), program.pid());
    for (const pid_t pid : all) kill(pid, SIGTERM);
    EXPECT_EQ(program.Wait(), 1);
  }
}

TEST_P(Supervised, WhatReachesTheWholeTreeLeavesItsRestTimeToEnd) {
  auto program = StartHolding(
      "(trap 'echo asked >&9; sleep 0.3; echo done >&9; exit' TERM; echo up >&9; "
      "while :; do sleep 0.01; done) & while :; do sleep 0.01; done",
      "30s", "1h", "up");
  std::vector<pid_t> all = zkr::Descendants(zkr::ListProcesses(), program->pid());
  all.push_back(program->pid());  // which hears of CMD's end and of the signal in any order
  for (const pid_t pid : all) kill(pid, SIGTERM);
  EXPECT_EQ(program->Wait(), 1000 + SIGTERM);
  EXPECT_TRUE(life_.WaitFor("done"));
}

// As KillMode=mixed does: zkr alone is asked, and the rest killed when it has ended.
TEST_P(Supervised, ASignalToZkrAloneEndsAllInOrder) {
  auto program = StartHolding(
      "(setsid sleep 1000 &); trap 'echo saved >&9; exit 5' TERM; echo ready >&9; "
      "while :; do sleep 0.01; done",
      "300ms");
  program->Signal(SIGTERM);
  EXPECT_EQ(program->Wait(), 5);
  EXPECT_TRUE(life_.WaitFor("saved"));
  EXPECT_FALSE(life_.IsHeld()) << "nothing is left to be killed";
}

// It is held back for a moment, in which CMD ends by itself.
TEST_P(Supervised, ASignalThatCannotReachTheCommandAnyMoreEndsZkr) {
  auto program = StartHolding("echo ready >&9; " + UntilGo() + "exit 0");
  program->Signal(SIGTERM);
  Go();
  EXPECT_EQ(program->Wait(), 1000 + SIGTERM);
}

// zkr is slow: when it looks, CMD and the runner have gone, and the signal is there, too.
TEST_P(Supervised, ASignalThatComesWithTheCommandsEndEndsZkr) {
  auto program = StartHolding("echo ready >&9; " + UntilGo() + "exit 0");
  program->Signal(SIGSTOP);
  Go();
  ASSERT_TRUE(Eventually([&] {  // the guard is left, or is a zombie
    return zkr::Descendants(zkr::ListProcesses(), program->pid()).size() <= 1;
  }));
  program->Signal(SIGTERM);
  program->Signal(SIGCONT);
  EXPECT_EQ(program->Wait(), 1000 + SIGTERM);
}

TEST_P(Supervised, EndsBySignalsAsTheCommandDoes) {
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM}) {
    LifeLine line(dir_ / std::to_string(signal));
    Program program(Driver(
        "5s", "1h", {"sh", "-c", "exec 9>" + line.path() + "; echo ready >&9; exec sleep 1000"}));
    ASSERT_TRUE(line.WaitFor("ready"));
    program.Signal(signal);
    EXPECT_EQ(program.Wait(), 1000 + signal);  // of the signal, as its shell must see
  }
}

TEST_P(Supervised, EndsWhatTheCommandLeavesBehindBeforeItReturns) {
  Program program(
      Shell(Holding(Stubborn("TERM") + "(sleep 1000; echo never >&9) & exit 5"), "300ms"));
  EXPECT_EQ(program.Wait(), 5);
  EXPECT_FALSE(life_.IsHeld());
}

TEST_P(Supervised, LetsWhatIsAboutToEndFinish) {
  const std::string late = dir_ / "late";
  Program program(Shell("(sleep 0.1; echo done > " + late + ") & exit 0"));
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_EQ(ReadFile(late), "done\n");
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

TEST(PidNamespace, ShowsTheCommandAProcOfItsOwn) {
  if (!MayMakePidNamespace()) GTEST_SKIP() << kNoPidNamespace;
  struct stat before, after;
  ASSERT_EQ(stat("/proc/self/ns/mnt", &before), 0);
  Program program(
      {ZKRECIPES_BIN_DIR "/zkr-supervise", "isolate", "5s", "1h", "--", "sh", "-c",
       "readlink /proc/$$/exe >/dev/null && cat /proc/1/comm; ls /proc | grep -c '^[0-9]'"});
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_THAT(program.Out(), HasSubstr("lock-runner"));
  ASSERT_EQ(stat("/proc/self/ns/mnt", &after), 0);
  EXPECT_NE(ReadFile("/proc/" + std::to_string(getpid()) + "/comm"), "");
}

TEST(Guard, RefusesToBeOneWhereItSeesNoProcesses) {
  if (!MayMakePidNamespace()) GTEST_SKIP() << "only CAP_SYS_ADMIN can take /proc away: run as root";
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
  if (!MayMakePidNamespace()) GTEST_SKIP() << kNoPidNamespace;
  TempDir dir;
  LifeLine life(dir / "life");
  Program program({"unshare", "--pid", "--fork", "--mount-proc", ZKRECIPES_BIN_DIR "/zkr-supervise",
                   "auto", "5s", "1h", "--", "sh", "-c",
                   "exec 9>" + life.path() +
                       "; trap 'exit 6' TERM; echo ready >&9; "
                       "while :; do sleep 0.01; done"});
  ASSERT_TRUE(life.WaitFor("ready"));
  const pid_t init = DescendantOf(program.pid(), "zkr-supervise");
  const auto zombies = [&] {
    return std::ranges::count_if(zkr::ListProcesses(),
                                 [&](const auto& p) { return p.parent == init && p.zombie; });
  };
  // As `docker exec` does: into the namespace, where the process's orphans are PID 1's.
  const std::string orphan = "(sh -c \"echo $$ >" + (dir / "orphan") + "; exec sleep 0.1\" &)";
  EXPECT_EQ(RunToEnd({"nsenter", "-t", std::to_string(init), "-p", "sh", "-c", orphan}).status, 0);
  ASSERT_TRUE(Eventually([&] { return ReadFile(dir / "orphan") != ""; }));
  EXPECT_TRUE(Eventually([&] {
    const auto all = zkr::ListProcesses();
    return std::ranges::none_of(
        all, [&](const auto& p) { return p.parent == init && NameOf(p.pid) == "sleep"; });
  }));
  EXPECT_EQ(zombies(), 0);
  kill(init, SIGTERM);
  EXPECT_EQ(program.Wait(), 6);
}

// As when ctest kills a program whose time is over.
TEST(Program, DoesNotOutliveItsTest) {
  TempDir dir;
  LifeLine life(dir / "life");
  const pid_t test = fork();
  if (test == 0) {
    const Program program({ZKRECIPES_BIN_DIR "/zkr-supervise", "auto", "5s", "1h", "--", "sh", "-c",
                           "exec 9>" + life.path() + "; echo ready >&9; exec sleep 1000"});
    pause();
  }
  ASSERT_TRUE(life.WaitFor("ready"));
  kill(test, SIGKILL);
  EXPECT_EQ(waitpid(test, nullptr, 0), test);
  EXPECT_TRUE(life.WaitUntilCut());
}

TEST(Guard, IsAProcessForThoseWhoMayMakeNoCgroup) {
  if (getuid() != 0)
    GTEST_SKIP() << "only root can become the user without rights whom this is about: run as root";
  const auto become_nobody = [] {
    if (setgroups(0, nullptr) != 0 || setgid(65534) != 0 || setuid(65534) != 0) _exit(99);
  };
  TempDir dir;
  LifeLine life(dir / "life");
  Program program({ZKRECIPES_BIN_DIR "/zkr-supervise", "auto", "5s", "1h", "--", "sh", "-c",
                   "exec 9>" + life.path() +
                       "; (setsid sleep 1000 &); grep NSpid /proc/self/status; "
                       "echo ready >&9; sleep 1000"},
                  {.in_child = become_nobody});
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

// ---- One guard for a command that is run several times -------------------------------------------

class SupervisedAgain : public Supervised {
 protected:
  std::unique_ptr<Program> Runs(const std::string& times, const std::vector<std::string>& driver) {
    return std::make_unique<Program>(driver,
                                     ProgramOptions{.environment = {{"ZKR_TEST_RUNS", times}}});
  }
  // A script that counts its runs in the variable n and goes on with `then`.
  std::string Counting(const std::string& then) {
    const std::string runs = dir_ / "runs";
    return "echo >>" + runs + "; n=$(wc -l <" + runs + "); " + then;
  }
};

INSTANTIATE_TEST_SUITE_P(Guard, SupervisedAgain, ::testing::Values("cgroup", "process", "isolate"),
                         [](const auto& instance) { return instance.param; });

TEST_P(SupervisedAgain, GivesEachRunTheSame) {
  auto program = Runs(
      "3", Shell(Counting("echo $ZKR_TEST $(ls /proc/self/fd | wc -l); [ $n = 2 ] && kill -9 $$; "
                          "exit $n")));
  EXPECT_EQ(program->Wait(), 3);
  const std::vector<std::string> lines = absl::StrSplit(program->Out(), '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 3u) << program->Out();
  EXPECT_THAT(lines[0], HasSubstr("a b=c"));
  EXPECT_EQ(lines[1], lines[0]);
  EXPECT_EQ(lines[2], lines[0]);
}

TEST_P(SupervisedAgain, NothingOfARunIsLeftWhenTheNextBegins) {
  const std::string lock = dir_ / "file";
  auto program = Runs(
      "3", Shell(Counting("exec 8>" + lock +
                          "; flock -n 8 || exit 99; (setsid sh -c 'trap \"\" TERM HUP; touch " +
                          (dir_ / "up") + "$0; while :; do sleep 1; done' $n &); while [ ! -e " +
                          (dir_ / "up") + "$n ]; do sleep 0.01; done; [ $n = 3 ]"),
                 "200ms"));
  EXPECT_EQ(program->Wait(), 0);
}

TEST_P(SupervisedAgain, ALaterRunDiesWithZkrToo) {
  auto program = Runs("2", Shell(Counting("[ $n = 1 ] && exit; " + Holding(kTree))));
  ASSERT_TRUE(life_.WaitFor("ready"));
  program->Signal(SIGKILL);
  EXPECT_TRUE(life_.WaitUntilCut());
}

TEST_P(SupervisedAgain, ALaterRunHasADeadlineToo) {
  auto program = Runs("2", Shell(Counting("[ $n = 1 ] && exit; " + Holding(kTree)), "30s", "3s"));
  ASSERT_TRUE(life_.WaitFor("ready"));
  program->Signal(SIGSTOP);
  EXPECT_TRUE(life_.WaitUntilCut());
  program->Signal(SIGCONT);
  EXPECT_EQ(program->Wait(), 70);
}

TEST_P(SupervisedAgain, RunsAgainAfterALoss) {
  const std::string doubt = lock_ + ".doubt";
  auto program =
      Runs("2", Shell(Counting("[ $n = 2 ] && exit 6; trap 'rm " + doubt +
                               "; exit 0' TERM; touch " + doubt + "; while :; do sleep 0.01; done"),
                      "10s", "4s"));
  EXPECT_EQ(program->Wait(), 6);
  EXPECT_THAT(program->Err(), HasSubstr("the lock is in doubt"));
}

TEST_P(SupervisedAgain, NothingRunsWithoutAGuard) {
  auto program = Runs("2", Shell(Counting(Holding("echo run$n >&9; sleep 1000"))));
  ASSERT_TRUE(life_.WaitFor("run1"));
  SignalDescendant(program->pid(), "lock-guard", SIGKILL);
  EXPECT_EQ(program->Wait(), 128 + SIGKILL);
  EXPECT_EQ(ReadFile(dir_ / "runs"), "\n");
}

}  // namespace
}  // namespace zkrecipes::testing

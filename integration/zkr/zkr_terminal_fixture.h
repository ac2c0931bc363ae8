// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_ZKR_ZKR_TERMINAL_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_ZKR_ZKR_TERMINAL_FIXTURE_H_

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

#include "integration/zkr/zkr_process.h"
#include "lib/base/unique_fd.h"
#include "tools/zkr/supervisor/process.h"

namespace zkrecipes::testing {

// Far more than anything on a screen takes, and so little that one failure leaves a test program
// the time for its other tests.
inline constexpr absl::Duration kScreenPatience = absl::Seconds(20);

// A program with a terminal of its own, and the keyboard and screen of it. Killed at its end.
class PtySession {
 public:
  explicit PtySession(const std::vector<std::string>& argv) {
    const winsize size{50, 200, 0, 0};
    int master = -1, slave = -1;
    if (openpty(&master, &slave, nullptr, nullptr, &size) != 0) std::abort();
    master_ = base::UniqueFd(master);
    fcntl(master, F_SETFL, O_NONBLOCK);
    fcntl(master, F_SETFD, FD_CLOEXEC);
    program_.emplace(argv, ProgramOptions{.environment = {{"PS1", "$> "}, {"TERM", "dumb"}},
                                          .in_child = [slave] { login_tty(slave); }});
    close(slave);
  }
  ~PtySession() {
    if (::testing::Test::HasFailure()) std::fprintf(stderr, "--- screen:\n%s\n", Screen().c_str());
  }
  PtySession(const PtySession&) = delete;
  PtySession& operator=(const PtySession&) = delete;

  void Type(const std::string& keys) const {
    EXPECT_EQ(write(master_.get(), keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }

  // Waits until `text` is on the screen, after what the last call found. False: it does not come.
  bool WaitFor(const std::string& text) {
    const auto appeared = [&] { return Screen().find(text, seen_) != std::string::npos; };
    const bool found = Eventually(appeared, kScreenPatience);
    if (found) seen_ = screen_.find(text, seen_) + text.size();
    return found;
  }

  // Waits until a process of that name (/proc/<pid>/comm) is in the foreground. Before that Ctrl-C
  // and Ctrl-Z reach whoever was there before, such as the shell, which ignores them.
  bool WaitForForeground(const std::string& name) {
    const auto is_there = [&] {
      const pid_t foreground = tcgetpgrp(master_.get());
      return std::ranges::any_of(
          zkr::supervisor::ListProcesses(), [&](const zkr::supervisor::ProcessInfo& process) {
            return process.group == foreground && NameOf(process.pid) == name;
          });
    };
    return Eventually(is_there, kScreenPatience);
  }

  // All of it, since the start.
  const std::string& Screen() {
    char buffer[4096];
    for (ssize_t got = 0; (got = read(master_.get(), buffer, sizeof(buffer))) > 0;) {
      screen_.append(buffer, static_cast<std::size_t>(got));
    }
    return screen_;
  }
  // The terminal's mode.
  bool Echoes() const {
    termios modes{};
    return tcgetattr(master_.get(), &modes) == 0 && (modes.c_lflag & ECHO) != 0;
  }
  int Wait() { return program_->Wait(); }

 private:
  base::UniqueFd master_;
  std::optional<Program> program_;
  std::string screen_;
  std::size_t seen_ = 0;
};

inline constexpr char kCtrlC[] = "\x03";
inline constexpr char kCtrlD[] = "\x04";
inline constexpr char kCtrlZ[] = "\x1a";

// The terminal under `zkr lock`, tried with tools/zkr/supervisor/supervise_fixture.cc under an
// interactive bash: whatever is typed must do what it does without zkr. The parameter is the guard.
//
// Ctrl-Z goes to one process here, never to a shell with a child: the shell is reported stopped
// while its child may still read the next line, and dash cannot be stopped at all while its child,
// made by vfork, is stopped before the exec. Both are so without zkr.
class OnATerminal : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNoGuard(GetParam()); !why.empty()) GTEST_SKIP() << why;
    ASSERT_EQ(mkfifo(go_.c_str(), 0600), 0);
    ASSERT_TRUE(shell_.WaitFor("$> "));
  }

  std::string Supervise(const std::string& remaining = "1h") const {
    return absl::StrCat(ZKRECIPES_BIN_DIR "/zkr-supervise ", GetParam(), " 5s ", remaining, " -- ");
  }

  // Types a command line. What it echoes is passed over.
  void Enter(const std::string& line) {
    shell_.Type(line + "\n");
    ASSERT_TRUE(shell_.WaitFor("\n"));
  }
  // The same for a command that says "ready"; waits for that.
  bool BecomesReady(const std::string& line) {
    Enter(line);
    return shell_.WaitFor("ready");
  }

  // Presses Ctrl-Z, and waits until the shell says that it stopped the job.
  bool IsStoppedByCtrlZ() {
    shell_.Type(kCtrlZ);
    return shell_.WaitFor("Stopped");
  }

  // Types fg, and waits until the shell says which job it continues.
  void BringToForeground() {
    Enter("fg");
    ASSERT_TRUE(shell_.WaitFor("zkr-supervise"));
    ASSERT_TRUE(shell_.WaitFor("\n"));
  }
  // Waits until `name` is in the foreground: keys that are typed next act on it.
  void BringToForeground(const std::string& name) {
    BringToForeground();
    ASSERT_TRUE(shell_.WaitForForeground(name));
  }

  // How a script begins that says that it runs and waits for Go. It forks nothing meanwhile.
  std::string UntilGo() const { return "echo ready; read word <" + go_ + "; "; }
  void Go() { EXPECT_EQ(Program({"sh", "-c", "echo >" + go_}).Wait(), 0); }

  // Presses Return until the shell reports that a job was stopped.
  bool HearsOfAStoppedJob() {
    const std::size_t before = shell_.Screen().size();
    const auto hears = [&] {
      shell_.Type("\n");
      return shell_.WaitFor("$> ") && shell_.Screen().find("Stopped", before) != std::string::npos;
    };
    return Eventually(hears, kScreenPatience);
  }

  bool WaitUntilItEchoes(bool echoes) {
    return Eventually([&] { return shell_.Echoes() == echoes; }, kScreenPatience);
  }

  // The shell answers again, and the last command ended with `status`.
  bool Ended(int status) {
    if (!shell_.WaitFor("$> ")) return false;
    shell_.Type("echo status=$?\n");
    return shell_.WaitFor(absl::StrCat("\r\nstatus=", status, "\r\n"));
  }

  void KillZkr() { SignalDescendant(getpid(), "zkr-supervise", SIGKILL); }

  TempDir dir_;
  LifeLine life_{dir_ / "life"};
  const std::string go_ = dir_ / "go";
  // Interactive, with job control.
  PtySession shell_{{"bash", "--norc", "--noprofile", "--noediting", "-i"}};
};

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_INTEGRATION_ZKR_ZKR_TERMINAL_FIXTURE_H_

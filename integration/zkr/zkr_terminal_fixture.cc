// SPDX-License-Identifier: Apache-2.0

#include "integration/zkr/zkr_terminal_fixture.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"

#include "tools/zkr/supervisor/process_tree.h"

namespace zkrecipes::testing {

PtySession::PtySession(const std::vector<std::string>& argv) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const winsize size{50, 200, 0, 0};
  pid_ = forkpty(&master_, nullptr, nullptr, &size);
  if (pid_ == 0) {
    setenv("PS1", "$> ", 1);
    setenv("TERM", "dumb", 1);
    execvp(words[0], words.data());
    _exit(127);
  }
  fcntl(master_, F_SETFL, O_NONBLOCK);
  fcntl(master_, F_SETFD, FD_CLOEXEC);
}

PtySession::~PtySession() {
  if (::testing::Test::HasFailure()) std::fprintf(stderr, "--- screen:\n%s\n", Screen().c_str());
  if (status_ == -1) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(master_);
}

void PtySession::Type(const std::string& keys) const {
  EXPECT_EQ(write(master_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
}

void PtySession::Read() {
  char buffer[4096];
  ssize_t got = 0;
  while ((got = read(master_, buffer, sizeof(buffer))) > 0) {
    screen_.append(buffer, static_cast<std::size_t>(got));
  }
}

bool PtySession::WaitFor(const std::string& text) {
  const auto appeared = [&] {
    Read();
    return screen_.find(text, seen_) != std::string::npos;
  };
  const bool found = WaitUntil(appeared, kScreenPatience);
  if (found) seen_ = screen_.find(text, seen_) + text.size();
  return found;
}

bool PtySession::WaitForForeground(const std::string& name) {
  const auto is_there = [&] {
    const pid_t foreground = tcgetpgrp(master_);
    const auto processes = zkr::ListProcesses();
    return std::any_of(processes.begin(), processes.end(), [&](const zkr::ProcessInfo& process) {
      return process.group == foreground && NameOf(process.pid) == name;
    });
  };
  return WaitUntil(is_there, kScreenPatience);
}

std::string PtySession::Screen() {
  Read();
  return screen_;
}

bool PtySession::Echoes() const {
  termios modes{};
  return tcgetattr(master_, &modes) == 0 && (modes.c_lflag & ECHO) != 0;
}

int PtySession::Wait() {
  int status = 0;
  const bool ended = WaitUntil([&] {
    Read();
    return waitpid(pid_, &status, WNOHANG) == pid_;
  });
  if (ended) status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  return status_;
}

PtySession InteractiveShell() {
  return PtySession({"bash", "--norc", "--noprofile", "--noediting", "-i"});
}

void OnATerminal::SetUp() {
  if (GetParam() == "namespace" && !MayMakePidNamespace()) GTEST_SKIP() << kNoPidNamespace;
  ASSERT_EQ(mkfifo(go_.c_str(), 0600), 0);
  ASSERT_TRUE(shell_.WaitFor("$> "));
}

std::string OnATerminal::Supervise(const std::string& remaining) const {
  return absl::StrCat(ZKRECIPES_BIN_DIR "/zkr-supervise ", GetParam(), " 5s ", remaining, " -- ");
}

void OnATerminal::Enter(const std::string& line) {
  shell_.Type(line + "\n");
  ASSERT_TRUE(shell_.WaitFor("\n"));
}

bool OnATerminal::BecomesReady(const std::string& line) {
  Enter(line);
  return shell_.WaitFor("ready");
}

bool OnATerminal::IsStoppedByCtrlZ() {
  shell_.Type(kCtrlZ);
  return shell_.WaitFor("Stopped");
}

void OnATerminal::BringToForeground() {
  Enter("fg");
  ASSERT_TRUE(shell_.WaitFor("zkr-supervise"));
  ASSERT_TRUE(shell_.WaitFor("\n"));
}

void OnATerminal::BringToForeground(const std::string& name) {
  BringToForeground();
  ASSERT_TRUE(shell_.WaitForForeground(name));
}

void OnATerminal::Go() { EXPECT_EQ(Program({"sh", "-c", "echo >" + go_}).Wait(), 0); }

bool OnATerminal::HearsOfAStoppedJob() {
  const std::size_t before = shell_.Screen().size();
  const auto hears = [&] {
    shell_.Type("\n");
    return shell_.WaitFor("$> ") && shell_.Screen().find("Stopped", before) != std::string::npos;
  };
  return WaitUntil(hears, kScreenPatience);
}

bool OnATerminal::WaitUntilItEchoes(bool echoes) {
  return WaitUntil([&] { return shell_.Echoes() == echoes; }, kScreenPatience);
}

void OnATerminal::KillZkr() {
  const auto found = DescendantsNamed(getpid(), "zkr-supervise");
  ASSERT_FALSE(found.empty());
  kill(found.front(), SIGKILL);
}

bool OnATerminal::Ended(int status) {
  if (!shell_.WaitFor("$> ")) return false;
  shell_.Type("echo status=$?\n");
  return shell_.WaitFor(absl::StrCat("\r\nstatus=", status, "\r\n"));
}

}  // namespace zkrecipes::testing

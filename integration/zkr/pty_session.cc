// SPDX-License-Identifier: Apache-2.0

#include "integration/zkr/pty_session.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "gtest/gtest.h"

#include "integration/zkr/zkr_process.h"
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

}  // namespace zkrecipes::testing

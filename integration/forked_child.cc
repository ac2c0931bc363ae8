// SPDX-License-Identifier: Apache-2.0

#include "integration/forked_child.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <utility>

#include <gtest/gtest.h>

namespace {

constexpr int kSeconds = 60;

// What only the parent's threads know is leaked in a forked child, on purpose.
bool is_forked_child = false;

}  // namespace

// Asked by LeakSanitizer at the end of a process, where there is one.
extern "C" int __lsan_is_turned_off() { return is_forked_child ? 1 : 0; }  // NOLINT

namespace zkrecipes::integration {

void Line::Say() { (void)send(fd_.get(), "w", 1, MSG_NOSIGNAL); }

bool Line::Hear() {
  pollfd in{fd_.get(), POLLIN, 0};
  char word;
  return poll(&in, 1, kSeconds * 1000) == 1 && read(fd_.get(), &word, 1) == 1;
}

ForkedChild::ForkedChild(const std::function<void(Line&)>& child) : line_(testing::UniqueFd()) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) abort();
  testing::UniqueFd mine(ends[0]);
  testing::UniqueFd its(ends[1]);
  pid_ = fork();
  line_ = Line(std::move(pid_ == 0 ? its : mine));
  if (pid_ != 0) return;
  mine = testing::UniqueFd();
  is_forked_child = true;
  alarm(kSeconds);
  child(line_);
  exit(::testing::Test::HasFailure() ? 1 : 0);
}

ForkedChild::~ForkedChild() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void ForkedChild::Wait() {
  int status = 1;
  ASSERT_EQ(waitpid(pid_, &status, 0), pid_);
  pid_ = 0;
  EXPECT_EQ(status, 0) << "how the forked child ended";
}

void RunInForkedChild(const std::function<void()>& child) {
  ForkedChild([&child](Line&) { child(); }).Wait();
}

}  // namespace zkrecipes::integration

// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/result.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "gtest/gtest.h"

namespace zkrecipes::zkr {
namespace {

std::string Written(const Result& result) {
  int fds[2];
  EXPECT_EQ(pipe(fds), 0);
  EXPECT_TRUE(WriteResult(fds[1], result));
  char buffer[256];
  const ssize_t got = read(fds[0], buffer, sizeof(buffer));
  close(fds[0]);
  close(fds[1]);
  return {buffer, static_cast<std::size_t>(got)};
}

TEST(Result, OfACommandIsItsOwnStatus) {
  EXPECT_EQ(Written(ResultOf({.end = supervisor::Outcome::End::kExited, .code = 75}, 42)),
            "{\"result\":\"ran\",\"status\":75,\"token\":42}\n");
  EXPECT_EQ(ResultOf({.end = supervisor::Outcome::End::kKilled, .code = SIGTERM}, 42).status, 143);
}

TEST(Result, OfSomethingUsedUpHasACodeOfItsOwn) {
  const Result result = ResultOf(absl::ResourceExhaustedError("sequence numbers"), 75);
  EXPECT_STREQ(result.word, "unavailable");
  EXPECT_EQ(result.status, 73);
}

TEST(Result, OfALossIsALossWhateverTheCommandSaid) {
  const Result result =
      ResultOf({.end = supervisor::Outcome::End::kExited, .code = 0, .lost = true}, 42);
  EXPECT_STREQ(result.word, "lost");
  EXPECT_EQ(result.status, 70);
}

TEST(Result, TellsACommandThatIsNotFoundFromOneThatSaysSo) {
  const Result result = ResultOf({.end = supervisor::Outcome::End::kNotRun, .code = ENOENT}, 42);
  EXPECT_STREQ(result.word, "usage");
  EXPECT_EQ(result.status, 127);
  EXPECT_EQ(ResultOf({.end = supervisor::Outcome::End::kNotRun, .code = EACCES}, 42).status, 126);
}

TEST(Result, OfAFailureHasNoToken) {
  EXPECT_EQ(Written(ResultOf(absl::DeadlineExceededError(""), 9)),
            "{\"result\":\"not_acquired\",\"status\":9,\"token\":null}\n");
  EXPECT_EQ(ResultOf(absl::UnavailableError(""), 75).status, 69);
  EXPECT_EQ(ResultOf(absl::PermissionDeniedError(""), 75).status, 77);
  EXPECT_EQ(ResultOf(absl::InvalidArgumentError(""), 75).status, 64);
}

TEST(Result, FindsTheStatusFdOfABadCommandLine) {
  EXPECT_EQ(FindStatusFd({"lock", "--status-fd", "3", "--bad"}), 3);
  EXPECT_EQ(FindStatusFd({"lock", "--status-fd=4"}), 4);
  EXPECT_EQ(FindStatusFd({"lock", "--status-fd"}), -1);
  EXPECT_EQ(FindStatusFd({"lock", "--status-fd", "x"}), -1);
  EXPECT_EQ(FindStatusFd({"lock"}), -1);
}

}  // namespace
}  // namespace zkrecipes::zkr

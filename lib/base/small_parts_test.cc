// SPDX-License-Identifier: Apache-2.0
//
// The small parts, each by itself.

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/boot_time.h"
#include "lib/base/process.h"
#include "lib/base/random.h"
#include "lib/base/secret.h"

namespace zkrecipes::base {
namespace {

// ---- boot_time.h --------------------------------------------------------------------------------

TEST(BootTime, NeverGoesBack) {
  BootTime last = BootNow();
  for (int i = 0; i < 1000; ++i) {
    const BootTime now = BootNow();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(BootTime, IsCountedFromTheStartOfTheMachine) {
  EXPECT_GT(BootNow(), BootTime());
  EXPECT_EQ(BootTime().since_boot(), absl::ZeroDuration());
}

TEST(BootTime, AddsAndSubtractsDurations) {
  const BootTime t = BootTime::SinceBoot(absl::Seconds(5));
  EXPECT_EQ(t + absl::Seconds(2), BootTime::SinceBoot(absl::Seconds(7)));
  EXPECT_EQ((t + absl::Seconds(2)) - t, absl::Seconds(2));
  EXPECT_EQ(t - absl::Seconds(2), BootTime::SinceBoot(absl::Seconds(3)));
}

TEST(BootTime, InfiniteFutureIsLaterThanAnyOtherAndStaysThere) {
  const BootTime never = BootTime::InfiniteFuture();
  EXPECT_LT(BootNow() + absl::Hours(1'000'000), never);
  EXPECT_EQ(never + absl::Seconds(-1), never);
  EXPECT_EQ(never - absl::Seconds(1), never);
  EXPECT_EQ(BootNow() - -absl::InfiniteDuration(), never);
  EXPECT_LT(BootNow() - absl::InfiniteDuration(), BootTime());
  EXPECT_EQ(never - BootNow(), absl::InfiniteDuration());
}

// ---- process.h ----------------------------------------------------------------------------------

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

// In a child of a death test, which a hang would otherwise never end.
void MakeStderrAFullPipe() {
  alarm(60);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
  while (write(ends[1], "full", 4) > 0) {
  }
  ASSERT_EQ(fcntl(ends[1], F_SETFL, 0), 0);
  ASSERT_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
}

TEST(TellOnStderrDeathTest, NeitherItNorTheEndOfTheProcessWaitsForAReader) {
  EXPECT_EXIT(
      {
        MakeStderrAFullPipe();
        _exit(TellOnStderr("not read") ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        MakeStderrAFullPipe();
        Die("not read");
      },
      testing::KilledBySignal(SIGABRT), "");
  EXPECT_EXIT(_exit(TellOnStderr("read") ? 0 : 1), testing::ExitedWithCode(0), "zkrecipes: read\n");
}

// On a thread of the program's, which may have the turn of a loop: SIGPIPE is not blocked there.
TEST(TellOnStderrDeathTest, AReaderThatIsGoneDoesNotEndTheProgram) {
  EXPECT_EXIT(
      {
        int ends[2];
        _exit(pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO &&
                      close(ends[0]) == 0 && !TellOnStderr("not read")
                  ? 0
                  : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Leak, KeepsWhatIsSharedAlive) {
  auto shared = std::make_shared<int>(7);
  const std::weak_ptr<int> weak = shared;
  Leak(std::move(shared));
  EXPECT_EQ(weak.use_count(), 1);
}

// ---- random.h -----------------------------------------------------------------------------------

TEST(Guid, IsAVersion4Uuid) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(NewGuid(), testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-"
                                                 "[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  }
}

TEST(Guid, IsNewEachTime) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(seen.insert(NewGuid()).second);
}

TEST(RandomBits, AreNotTwiceTheSame) { EXPECT_NE(RandomBits(), RandomBits()); }

TEST(AnyUpTo, LiesBetweenNothingAndTheLongest) {
  EXPECT_EQ(AnyUpTo(absl::Seconds(2), 0), absl::ZeroDuration());
  EXPECT_EQ(AnyUpTo(absl::Seconds(2), uint64_t{1} << 63), absl::Seconds(1));
  EXPECT_LE(AnyUpTo(absl::Seconds(2), std::numeric_limits<uint64_t>::max()), absl::Seconds(2));
}

TEST(Jittered, LiesBetweenHalfAndAllOfTheLongest) {
  EXPECT_EQ(Jittered(absl::Seconds(2), 0), absl::Seconds(1));
  EXPECT_EQ(Jittered(absl::Seconds(2), uint64_t{1} << 63), absl::Milliseconds(1500));
  EXPECT_LE(Jittered(absl::Seconds(2), std::numeric_limits<uint64_t>::max()), absl::Seconds(2));
}

TEST(Doubled, GrowsUpToTheLongestAndStaysThere) {
  const int limits_ms[] = {50, 100, 200, 400, 500, 500};
  int failures = 0;
  for (const int limit : limits_ms) {
    EXPECT_EQ(Doubled(absl::Milliseconds(50), absl::Milliseconds(500), failures++),
              absl::Milliseconds(limit));
  }
  EXPECT_EQ(Doubled(absl::Milliseconds(1), absl::Seconds(10), 13), absl::Milliseconds(8192));
  EXPECT_EQ(Doubled(absl::Milliseconds(1), absl::Seconds(10), 14), absl::Seconds(10));
  EXPECT_EQ(Doubled(absl::Milliseconds(50), absl::Milliseconds(500), 10'000),
            absl::Milliseconds(500));
}

// ---- secret.h -----------------------------------------------------------------------------------

TEST(Secret, IsOneCopyForAllThatHaveIt) {
  const Secret a("user:password");
  const Secret b = a;
  EXPECT_EQ(a.text().data(), b.text().data());
  EXPECT_EQ(b.text(), "user:password");
  EXPECT_TRUE(a == Secret("user:password"));
  EXPECT_FALSE(a == Secret("user:passwore"));
}

// That it is overwritten when it goes, SecretsTest.NoneIsLeftInMemoryOrInAMessage shows: here the
// memory may be another's by then.
TEST(Secret, WhatIsTakenIsWipedWhereItCameFrom) {
  std::vector<std::string> texts = {"a:1", std::string(100, 'x') + ":long"};
  const char* const short_one = texts[0].data();
  texts[0].reserve(3);
  const Secrets secrets = TakeSecrets(texts);
  EXPECT_TRUE(texts.empty());
  ASSERT_EQ(secrets.size(), 2u);
  EXPECT_EQ(secrets[0].text(), "a:1");
  EXPECT_EQ(secrets[1].text().size(), 105u);
  EXPECT_NE(secrets[0].text().data(), short_one);
}

TEST(Secret, AStringIsWipedWithAllThatItHasRoomFor) {
  std::string text = "user:password";
  text.reserve(64);
  const char* const bytes = text.data();
  text.resize(4);  // "word" stays behind the end
  Wipe(text);
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(std::string(bytes, 13), std::string(13, '\0'));
}

}  // namespace
}  // namespace zkrecipes::base

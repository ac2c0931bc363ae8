// SPDX-License-Identifier: Apache-2.0

#include "verification/workload/recorder.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

#include "testing/local/work_directory.h"
#include "verification/checker/run_directory.h"

namespace zkrecipes::history {
namespace {

using What = Event::What;

class RecorderTest : public ::testing::Test {
 protected:
  std::vector<Event> Recorded() {
    const absl::StatusOr<std::vector<Event>> history = ReadHistory(path_);
    EXPECT_TRUE(history.ok()) << history.status();
    return history.ok() ? *history : std::vector<Event>();
  }

  testing::WorkDirectory directory_ = *testing::WorkDirectory::MakeTemporary(/*keep=*/false);
  std::string path_ = directory_.path() + "/history";
};

TEST_F(RecorderTest, SaysWhoAndWhenIfTheEventDoesNot) {
  const int64_t before = Now();
  auto recorder = *Recorder::Open(path_, "w1");
  recorder->Record({.what = What::kStart});
  recorder->Record({.at = 7, .who = "w2", .what = What::kKilled});
  const std::vector<Event> events = Recorded();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].who, "w1");
  EXPECT_GE(events[0].at, before);
  EXPECT_LE(events[0].at, Now());
  EXPECT_EQ(events[1].who, "w2");
  EXPECT_EQ(events[1].at, 7);
}

TEST_F(RecorderTest, NeverWritesIntoAnotherHistory) {
  ASSERT_TRUE(Recorder::Open(path_, "w1").ok());
  EXPECT_EQ(Recorder::Open(path_, "w1").status().code(), absl::StatusCode::kInternal);
}

TEST_F(RecorderTest, KeepsLinesOfManyThreadsWhole) {
  auto recorder = *Recorder::Open(path_, "w1");
  std::vector<std::thread> threads;
  for (int64_t attempt = 1; attempt <= 4; ++attempt) {
    threads.emplace_back([&recorder, attempt] {
      for (int i = 0; i < 200; ++i) recorder->Record({.what = What::kInvoke, .attempt = attempt});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Recorded().size(), 800u);
}

TEST_F(RecorderTest, LosesNothingWhenItsProcessIsKilled) {
  const pid_t child = fork();
  if (child == 0) {
    auto recorder = *Recorder::Open(path_, "w1");
    recorder->Record({.what = What::kStart});
    recorder->Record({.what = What::kInvoke});
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(Recorded().size(), 2u);
}

}  // namespace
}  // namespace zkrecipes::history

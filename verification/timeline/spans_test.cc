// SPDX-License-Identifier: Apache-2.0

#include "verification/timeline/spans.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "verification/checker/run_test_script.h"

namespace zkrecipes::history {
namespace {

using What = Event::What;

const char* NameOf(Span::Phase phase) {
  constexpr const char* kNames[] = {"waiting", "held",      "suspect", "unproven",
                                    "lost",    "releasing", "promised"};
  return kNames[static_cast<int>(phase)];
}

// "waiting 1-2, held 2-5": of the first attempt, times in seconds.
std::string SpansIn(const RunScript& run) {
  const Story story(run.events());
  const Process& process = story.processes().front();
  std::vector<std::string> told;
  for (const Span& span : SpansOf(*process.attempts.front(), process, story.end())) {
    told.push_back(absl::StrCat(NameOf(span.phase), " ", std::lround(span.from * 1e-9), "-",
                                std::lround(span.to * 1e-9)));
  }
  return absl::StrJoin(told, ", ");
}

// Asks at 1, is granted at 2 and told that nobody else is before 9.
RunScript Holding() {
  RunScript run;
  run.At(0).Process("w1", What::kStart).At(1).Writer("w1", 1).Asks().At(2).Granted(11, 9);
  return run;
}

TEST(Spans, GoFromTheRequestToTheRelease) {
  RunScript run = Holding();
  run.At(5).Releases();
  EXPECT_EQ(SpansIn(run), "waiting 1-2, held 2-5");
  run.At(6).Released();
  EXPECT_EQ(SpansIn(run), "waiting 1-2, held 2-5, releasing 5-6");
}

TEST(Spans, EndWithARefusal) {
  RunScript run;
  run.At(1).Writer("w1", 1).Asks().At(3).Failed("CANCELLED: enough");
  run.At(9).Process("w1", What::kEnd);
  EXPECT_EQ(SpansIn(run), "waiting 1-3");
}

TEST(Spans, EndWithTheRun) {
  RunScript run = Holding();
  run.At(8).Process("w1", What::kEnd);
  EXPECT_EQ(SpansIn(run), "waiting 1-2, held 2-8");
}

TEST(Spans, FollowWhatWasSeen) {
  RunScript run = Holding();
  run.At(3).Sees("held").At(4).Sees("suspect").At(5).Sees("suspect").At(6).Sees("held");
  run.At(7).Lost().Sees("lost").At(8).Releases();
  EXPECT_EQ(SpansIn(run), "waiting 1-2, held 2-4, suspect 4-6, held 6-7, lost 7-8");
}

TEST(Spans, OfTheDeadThePromiseIsLeft) {
  RunScript run = Holding();
  run.At(4).Process("w1", What::kKilled).At(20).Process("w1", What::kStart);
  EXPECT_EQ(SpansIn(run), "waiting 1-2, held 2-4, promised 4-9");
}

TEST(Spans, WhoWasStoppedForTooLongHadLostItBeforeHeKnew) {
  RunScript run = Holding();
  run.At(4).Process("w1", What::kPaused).At(15).Process("w1", What::kResumed);
  run.At(15.1).Lost().At(16).Releases();
  EXPECT_EQ(SpansIn(run), "waiting 1-2, held 2-4, promised 4-9, lost 9-16");
}

TEST(Spans, WhoWasStoppedForAMomentHeldItAllTheTime) {
  RunScript run = Holding();
  run.At(4).Process("w1", What::kPaused).At(5).Process("w1", What::kResumed);
  run.At(6).Sees("held").At(7).Releases();
  EXPECT_EQ(SpansIn(run), "waiting 1-2, held 2-7");
}

}  // namespace
}  // namespace zkrecipes::history

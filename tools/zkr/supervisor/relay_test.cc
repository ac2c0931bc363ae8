// SPDX-License-Identifier: Apache-2.0

#include <signal.h>

#include "gmock/gmock.h"

#include "tools/zkr/supervisor/signals.h"

namespace zkrecipes::zkr::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RelayTest : public ::testing::Test {
 protected:
  void OnCopies(SentSignal signal, base::BootTime now) {
    relay_.OnCopy(Relay::kRunner, signal, now);
    relay_.OnCopy(Relay::kGuard, signal, now);
  }
  std::vector<int> DueAfter(absl::Duration time) { return relay_.TakeDue(now_ = now_ + time); }

  Relay relay_;
  base::BootTime now_ = base::BootTime::SinceBoot(absl::Hours(1));
  const SentSignal term_{SIGTERM, 4711};
};

TEST_F(RelayTest, PassesOnWhatOnlyZkrGotAfterAMoment) {
  relay_.OnZkrs(term_, now_);
  EXPECT_EQ(relay_.next(now_), now_ + Relay::kTogether);
  EXPECT_THAT(DueAfter(Relay::kTogether / 2), IsEmpty());
  EXPECT_THAT(DueAfter(Relay::kTogether / 2), ElementsAre(SIGTERM));
  EXPECT_EQ(relay_.next(now_), base::BootTime::InfiniteFuture());
}

TEST_F(RelayTest, TellsWhatCameTooLateToBePassedOn) {
  relay_.OnZkrs(term_, now_);
  EXPECT_THAT(relay_.TakeAll(), ElementsAre(SIGTERM));
  relay_.OnZkrs(term_, now_);
  OnCopies(term_, now_);
  EXPECT_THAT(relay_.TakeAll(), IsEmpty());
}

TEST_F(RelayTest, KeepsWhatReachedTheWholeTreeInEitherOrder) {
  relay_.OnZkrs(term_, now_);
  OnCopies(term_, now_ + Relay::kTogether / 2);
  EXPECT_THAT(DueAfter(Relay::kTogether), IsEmpty());
  OnCopies(term_, now_);
  relay_.OnZkrs(term_, now_ + absl::Seconds(1));
  EXPECT_THAT(DueAfter(absl::Minutes(1)), IsEmpty());
}

TEST_F(RelayTest, EachCopyStandsForOne) {
  OnCopies(term_, now_);
  relay_.OnZkrs(term_, now_);
  relay_.OnZkrs(term_, now_);
  EXPECT_THAT(DueAfter(Relay::kTogether), ElementsAre(SIGTERM));
}

TEST_F(RelayTest, TellsSignalsAndSendersApart) {
  OnCopies({SIGHUP, term_.sender}, now_);
  OnCopies({SIGTERM, term_.sender + 1}, now_);
  relay_.OnZkrs(term_, now_);
  EXPECT_THAT(DueAfter(Relay::kTogether), ElementsAre(SIGTERM));
}

TEST_F(RelayTest, ForgetsWhatZkrDidNotGet) {
  OnCopies(term_, now_);
  relay_.OnZkrs(term_, now_ = now_ + Relay::kRemembered);
  EXPECT_THAT(DueAfter(Relay::kTogether), ElementsAre(SIGTERM));
}

// Somebody signals that process, and then zkr.
TEST_F(RelayTest, PassesOnWhatOnlyOneOfTheOthersGot) {
  for (const auto witness : {Relay::kRunner, Relay::kGuard}) {
    relay_.OnCopy(witness, term_, now_);
    relay_.OnZkrs(term_, now_);
    EXPECT_EQ(relay_.next(now_), now_ + Relay::kRemembered);
    EXPECT_THAT(DueAfter(Relay::kRemembered), ElementsAre(SIGTERM));
  }
}

TEST_F(RelayTest, WaitsForTheOtherCopyWhereThereIsOne) {
  relay_.OnCopy(Relay::kRunner, term_, now_);
  relay_.OnZkrs(term_, now_);
  EXPECT_THAT(DueAfter(Relay::kRemembered / 2), IsEmpty());
  relay_.OnCopy(Relay::kGuard, term_, now_);
  EXPECT_THAT(DueAfter(Relay::kRemembered), IsEmpty());
  relay_.OnCopy(Relay::kRunner, term_, now_);
  relay_.OnZkrs(term_, now_);
  EXPECT_THAT(relay_.TakeAll(), IsEmpty()) << "CMD may have ended by its copy";
}

TEST_F(RelayTest, TakesASenderOfAnotherNamespaceForAny) {
  relay_.OnZkrs(term_, now_);
  OnCopies({SIGTERM, 0}, now_);
  EXPECT_THAT(DueAfter(Relay::kTogether), IsEmpty());
}

}  // namespace
}  // namespace zkrecipes::zkr::supervisor

// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/pollables.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/zk/loop/pollable_fixture.h"

namespace zkrecipes::zk::loop {
namespace {

class PollablesTest : public testing::Test {
 protected:
  void Round() {
    pollables_.Drain(base::BootNow());
    pollables_.Prepare(base::BootNow());
    pollables_.Ready(set_.Look(/*blocks=*/false));
  }
  std::vector<short> HeardInARound() {
    one_.heard.clear();
    Round();
    return one_.heard;
  }

  ReadySet set_;
  Pollables pollables_{set_};
  Pipe pipe_;
  FakePollable one_{pipe_.out()};
};

TEST_F(PollablesTest, HearsTheDescriptorThatGotTheNumberOfAClosedOneAndNotThatOne) {
  pollables_.Add(&one_);
  Round();
  Pipe next;
  pollables_.Closes(one_.interest.fd);
  const base::UniqueFd childs(dup(one_.interest.fd));  // as a forked child has it open
  dup2(next.out(), one_.interest.fd);
  one_.set_touched(true);
  pipe_.Write();
  EXPECT_TRUE(HeardInARound().empty());
  next.Write();
  EXPECT_EQ(HeardInARound(), std::vector<short>{POLLIN});
}

TEST_F(PollablesTest, HearsWhatIsWantedNow) {
  one_.interest = {.fd = pipe_.in(), .events = 0};
  pollables_.Add(&one_);
  EXPECT_TRUE(HeardInARound().empty());
  for (const short events : {short{POLLOUT}, short{0}}) {
    one_.interest.events = events;
    one_.set_touched(true);
    const std::vector<short> wanted(events == 0 ? 0 : 1, events);
    EXPECT_EQ(HeardInARound(), wanted);
  }
  one_.interest = {};
  one_.set_touched(true);
  Round();
  EXPECT_TRUE(set_.Add(pipe_.in(), 0, nullptr)) << "it is in the set no more";
}

TEST_F(PollablesTest, TellsNothingToOneThatWasRemovedSinceTheLook) {
  auto other = std::make_unique<FakePollable>(pipe_.out());
  auto another = std::make_unique<FakePollable>(pipe_.in());
  another->interest.events = POLLOUT;
  int told = 0;
  const auto remove = [&](std::unique_ptr<FakePollable>& victim) {
    ++told;
    pollables_.Remove(victim.get());
    victim.reset();
  };
  other->on_ready = [&] { remove(another); };
  another->on_ready = [&] { remove(other); };
  pollables_.Add(other.get());
  pollables_.Add(another.get());
  pipe_.Write();
  Round();
  EXPECT_EQ(told, 1);
}

TEST_F(PollablesTest, AsksAgainAndAgainAboutWhatTheKernelRefusesToWatch) {
  const base::UniqueFd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));  // EPERM
  one_.interest.fd = file.get();
  pollables_.Add(&one_);
  EXPECT_EQ(HeardInARound(), std::vector<short>{POLLIN});
  EXPECT_EQ(HeardInARound(), std::vector<short>{POLLIN});
  EXPECT_LE(pollables_.until(), base::BootNow() + kPause);
  EXPECT_GE(one_.drained, 1);
}

TEST_F(PollablesTest, AsksAboutEachWhenTheSetIsGone) {
  pollables_.Add(&one_);
  Round();
  pipe_.Write();
  pollables_.Ready(std::nullopt);
  EXPECT_EQ(one_.heard, std::vector<short>{POLLIN});
}

}  // namespace
}  // namespace zkrecipes::zk::loop

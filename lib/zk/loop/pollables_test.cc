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

  ReadySet set_{absl::Hours(1)};
  Pollables pollables_{set_};
  Pipe pipe_;
  FakePollable one_{pipe_.out()};
};

// Each call of a pollable may close its descriptor, and open another that gets its number.
TEST_F(PollablesTest, HearsTheDescriptorThatGotTheNumberOfAClosedOneAndNotThatOne) {
  for (auto call : {&FakePollable::on_drain, &FakePollable::on_prepare, &FakePollable::on_ready}) {
    Pipe pipe, next;
    base::UniqueFd childs;  // as a forked child has it open
    FakePollable one(pipe.out());
    one.interest.until = base::BootTime();  // drained in each round
    bool swaps = true;
    pollables_.Add(&one);
    Round();
    pipe.Write();
    one.*call = [&] {
      if (!std::exchange(swaps, false)) return;
      childs = base::UniqueFd(dup(pipe.out()));
      pollables_.Closes(pipe.out());
      dup2(next.out(), pipe.out());
    };
    Round();
    Round();
    one.heard.clear();
    Round();
    EXPECT_TRUE(one.heard.empty());
    next.Write();
    Round();
    EXPECT_EQ(one.heard, std::vector<short>{POLLIN});
    pollables_.Remove(&one);
    EXPECT_FALSE(set_.lost());
  }
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
  EXPECT_TRUE(set_.Add(pipe_.in(), 0, 0)) << "it is in the set no more";
}

TEST_F(PollablesTest, ForgetsOneThatIsRemoved) {
  pollables_.Add(&one_);
  Round();
  pollables_.Remove(&one_);
  EXPECT_TRUE(set_.Add(pipe_.out(), 0, 0)) << "it is in the set no more";
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

// The program has closed it, and has another one now, which gets its number.
TEST_F(PollablesTest, TakesAnothersEventsForNoneOfItsOwn) {
  for (const bool outer : {false, true}) {
    ReadySet set(absl::Hours(1));
    Pollables pollables(set);
    Pipe pipe;
    FakePollable one(pipe.out());
    pollables.Add(&one);
    pollables.Prepare(base::BootNow());
    const base::UniqueFd others(epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{.events = EPOLLIN, .data = {.u64 = 0}};
    const int inner = SetWith(pipe.out()).number;
    dup2(others.get(), outer ? SetWith(inner).number : inner);
    epoll_ctl(others.get(), EPOLL_CTL_ADD, pipe.out(), &event);
    pipe.Write();
    if (outer) set.Sleep();
    pollables.Ready(set.Look(/*blocks=*/false));
    EXPECT_TRUE(set.lost());
    one.heard.clear();
    pollables.Ready(set.Look(/*blocks=*/true));
    EXPECT_EQ(one.heard, std::vector<short>{POLLIN}) << "asked by poll";
    pollables.Remove(&one);
  }
}

TEST_F(PollablesTest, DoesNotHearForEverOfASocketThatTheProgramHasClosed) {
  for (const bool notices : {false, true}) {
    ReadySet set(absl::Hours(1));
    Pollables pollables(set);
    Pipe pipe, next;
    FakePollable one(pipe.out());
    pollables.Add(&one);
    pollables.Prepare(base::BootNow());
    const base::UniqueFd childs(dup(pipe.out()));  // as a forked child has it open
    dup2(next.out(), pipe.out());
    pipe.Write();
    if (notices) pollables.Closes(pipe.out());
    one.interest.events = POLLIN | POLLPRI;
    one.set_touched(true);
    pollables.Prepare(base::BootNow());
    EXPECT_TRUE(set.lost());
    pollables.Ready(set.Look(/*blocks=*/true));
    EXPECT_TRUE(one.heard.empty());
    next.Write();
    pollables.Ready(set.Look(/*blocks=*/true));
    EXPECT_EQ(one.heard, std::vector<short>{POLLIN});
  }
}

}  // namespace
}  // namespace zkrecipes::zk::loop

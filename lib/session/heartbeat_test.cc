// SPDX-License-Identifier: Apache-2.0

#include "lib/session/heartbeat.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/zk/loop/timer_queue.h"

namespace zkrecipes::session {
namespace {

using ::testing::SizeIs;
using ::testing::StartsWith;
using zk::Code;

constexpr absl::Duration kTimeout = absl::Seconds(10);

class FakeReactor : public zk::Reactor {
 public:
  void Post(Task task) override { CallAt(now_, std::move(task)); }
  base::BootTime Now() override { return now_; }
  uint64_t Random() override { return random_ += 0x9e3779b97f4a7c15; }
  TimerId CallAt(base::BootTime when, Task task) override {
    return timers_.Add(when, std::move(task));
  }
  void Cancel(TimerId id) override { timers_.Cancel(id); }

  // Runs what becomes due, each at its own time.
  void Pass(absl::Duration time) {
    const base::BootTime end = now_ + time;
    while (timers_.Next() <= end) {
      now_ = std::max(now_, timers_.Next());
      while (auto task = timers_.TakeDue(now_, timers_.Mark())) std::move(task)();
    }
    now_ = end;
  }

 private:
  base::BootTime now_ = base::BootTime::SinceBoot(absl::Seconds(1000));
  uint64_t random_ = 0;
  zk::loop::TimerQueue timers_;
};

// A connected session whose server is the test: it sees the requests and answers them.
class HeartbeatTest : public ::testing::Test, private Heartbeat::Owner {
 protected:
  HeartbeatTest() {
    Need(true);
    Connect(/*new_session=*/true);
  }

  void Need(bool proof, bool lease = false) {
    heartbeat_.SetNeed({.proof = proof, .lease = lease});
  }
  void Connect(bool new_session) { heartbeat_.OnConnected(reactor_.Now(), kTimeout, new_session); }
  // As Session sends a request.
  void SendBeat(const zk::Request& request, zk::Handle::Done done) override {
    sent_.push_back({request, heartbeat_.Sent(request), std::move(done)});
  }
  void OnProven() override { ++proven_; }
  void OnLapsed() override { ++lapsed_; }

  // Answers the oldest request.
  void Answer(Code code) {
    ASSERT_FALSE(sent_.empty());
    Sent oldest = std::move(sent_.front());
    sent_.erase(sent_.begin());
    heartbeat_.Answered(oldest.ticket, code);
    std::move(oldest.done)(zk::Reply{code});
  }
  bool BeatIsSent() const {
    return !sent_.empty() && std::holds_alternative<zk::Delete>(sent_[0].request);
  }
  // Answers the reads before it.
  void AwaitBeat() {
    for (int i = 0; i < 1000 && !BeatIsSent(); ++i) {
      if (!sent_.empty()) Answer(Code::kNoNode);
      reactor_.Pass(kTimeout / 100);
    }
    ASSERT_TRUE(BeatIsSent());
  }
  std::string PathOfBeat() const {
    return std::get<zk::Delete>(heartbeat_.CommittedBarrier()).path;
  }
  SessionValidity::State state() {
    return heartbeat_.validity()->At(reactor_.Now(), {.period = heartbeat_.validity()->period()});
  }

  struct Sent {
    zk::Request request;
    Heartbeat::Ticket ticket;
    zk::Handle::Done done;
  };
  FakeReactor reactor_;
  std::vector<Sent> sent_;
  int proven_ = 0;
  int lapsed_ = 0;
  Heartbeat heartbeat_{&reactor_, this, {.margins = {}, .namespace_root = "/team"}};
};

TEST_F(HeartbeatTest, BeatsBelowAMissingNodeOfItsNamespace) {
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_EQ(sent_[0].request, heartbeat_.CommittedBarrier());
  EXPECT_THAT(PathOfBeat(), StartsWith("/team/zkrecipes-missing-"));
}

TEST_F(HeartbeatTest, NamesTheMissingNodeAnewInEachSession) {
  const std::string first = PathOfBeat();
  heartbeat_.OnDisconnected();
  Connect(/*new_session=*/false);
  EXPECT_EQ(PathOfBeat(), first);
  heartbeat_.OnExpired();
  Connect(/*new_session=*/true);
  EXPECT_NE(PathOfBeat(), first);
}

TEST_F(HeartbeatTest, NamesTheMissingNodeAnewWhenAStrangerIsInItsWay) {
  for (const Code code : {Code::kNotEmpty, Code::kNoAuth, Code::kOk}) {
    const std::string before = PathOfBeat();
    Answer(code);
    EXPECT_NE(PathOfBeat(), before);
    AwaitBeat();
    EXPECT_EQ(sent_[0].request, heartbeat_.CommittedBarrier());
  }
  for (const Code code : {Code::kNoNode, Code::kConnectionLoss}) {
    const std::string before = PathOfBeat();
    Answer(code);
    EXPECT_EQ(PathOfBeat(), before);
    AwaitBeat();
  }
}

TEST_F(HeartbeatTest, HasOneBeatAtATimeOnItsWay) {
  reactor_.Pass(kTimeout / 2);
  EXPECT_THAT(sent_, SizeIs(1));
  Answer(Code::kNoNode);
  reactor_.Pass(kTimeout / 10);
  EXPECT_THAT(sent_, SizeIs(1));
}

// A write of a user's, sent before the beat, is answered while the next proof is urgent.
TEST_F(HeartbeatTest, HasOneBeatAtATimeOnItsWayHoweverUrgentTheNextIs) {
  reactor_.Pass(kTimeout);
  ASSERT_EQ(lapsed_, 1);
  Answer(Code::kNoNode);
  for (int i = 0; i < 100 && proven_ == 0; ++i) {
    const Heartbeat::Ticket write = heartbeat_.Sent(zk::SetData{"/q", "", 0});
    reactor_.Pass(absl::Milliseconds(131));
    heartbeat_.Answered(write, Code::kOk);
    ASSERT_LE(sent_.size(), 1u) << "in round " << i;
    if (!sent_.empty()) Answer(Code::kNoNode);
  }
  EXPECT_EQ(proven_, 1);
}

// A disk that was slow: each contender in turn would be granted a lease, and lose it.
TEST_F(HeartbeatTest, AfterALapseTheFirstProofLeavesTheTimeForAnother) {
  for (int tenths = 5; tenths < 30; ++tenths) {
    reactor_.Pass(2 * kTimeout);
    proven_ = 0;
    for (int i = 0; i < 100 && proven_ == 0; ++i) {
      reactor_.Pass(i < 8 ? tenths * absl::Milliseconds(100) : absl::Milliseconds(50));
      if (!sent_.empty()) Answer(Code::kNoNode);
    }
    ASSERT_EQ(proven_, 1);
    EXPECT_GE(heartbeat_.validity()->ProvenUntil(reactor_.Now()) - reactor_.Now(), kTimeout / 5)
        << tenths;
  }
}

TEST_F(HeartbeatTest, DoesNotAskAServerAgainAtOnceThatRefusesABeat) {
  Answer(Code::kNoNode);
  AwaitBeat();
  Answer(Code::kNoNode);
  ASSERT_TRUE(BeatIsSent()) << "the second of the pair";
  Answer(Code::kThrottled);
  EXPECT_THAT(sent_, SizeIs(0));
}

// Wherever the proof of a lapsed session has got to when the server begins to throttle.
TEST_F(HeartbeatTest, DoesNotAskAServerAgainAtOnceThatRefusesTheProofOfALapsedSession) {
  for (int steps = 1; steps < 90; ++steps) {
    reactor_.Pass(2 * kTimeout);
    const int proven = proven_;
    for (int i = 0; i < steps; ++i) {
      if (!sent_.empty()) Answer(Code::kNoNode);
      reactor_.Pass(absl::Milliseconds(50));
    }
    if (proven_ != proven) continue;
    int refused = 0;
    for (int i = 0; i < 500; ++i) {
      if (!sent_.empty() && ++refused > 0) Answer(Code::kThrottled);
      reactor_.Pass(absl::Milliseconds(1));
    }
    EXPECT_LE(refused, 6) << "in half a second, after " << steps << " steps";
  }
}

TEST_F(HeartbeatTest, KeepsTheSessionProvenWhileBeatsAreAnswered) {
  Need(true, /*lease=*/true);
  for (int i = 0; i < 100; ++i) {
    if (!sent_.empty()) Answer(Code::kNoNode);
    reactor_.Pass(kTimeout / 20);
  }
  EXPECT_EQ(state(), SessionValidity::State::kBelieved);
  EXPECT_EQ(lapsed_, 0);
  reactor_.Pass(kTimeout);
  EXPECT_EQ(lapsed_, 1);
}

// Reads keep touches available, and cost no transaction.
TEST_F(HeartbeatTest, SendsReadsAndNoBeatsWhileNoProofIsNeeded) {
  Answer(Code::kNoNode);
  Need(false);
  int reads = 0;
  for (int i = 0; i < 1000; ++i) {
    reactor_.Pass(kTimeout / 100);
    if (sent_.empty()) continue;
    ASSERT_FALSE(BeatIsSent());
    ++reads;
    Answer(Code::kNoNode);
  }
  EXPECT_GE(reads, 100);
  EXPECT_LE(reads, 125);
}

TEST_F(HeartbeatTest, BeatsOnForThreeSessionTimeoutsAfterALeaseSinceTheNextMayComeSoon) {
  for (const bool held : {false, true}) {
    Need(true, held);
    AwaitBeat();
    Need(false);
    int beats = 0;
    for (int i = 0; i < 500; ++i) {
      beats += BeatIsSent() ? 1 : 0;
      if (!sent_.empty()) Answer(Code::kNoNode);
      reactor_.Pass(kTimeout / 100);
    }
    EXPECT_LE(beats, held ? 20 : 1);
    EXPECT_GE(beats, held ? 10 : 1) << "with the one that was on its way";
  }
}

// A lease that is wanted now must not end with what is left of an old proof.
TEST_F(HeartbeatTest, BeginsAnewForALeaseThatIsWantedWhenLittleTimeIsLeft) {
  const int before = heartbeat_.validity()->period();
  Need(false);
  reactor_.Pass(kTimeout / 2);
  Need(true);
  EXPECT_EQ(heartbeat_.validity()->period(), before) << "enough is left";
  Need(false);
  reactor_.Pass(kTimeout / 3);
  Need(true);
  EXPECT_NE(heartbeat_.validity()->period(), before);
  EXPECT_EQ(state(), SessionValidity::State::kUnproven);
}

// A server in calm weather: it answers whatever comes after 5 ms, unless it is mute.
class CalmSession : private Heartbeat::Owner {
 public:
  CalmSession(absl::Duration timeout, const machine::ExpiryMargins& margins,
              machine::BeatPace::Kind pace)
      : timeout_(timeout), heartbeat_(&reactor_, this, {margins, pace, ""}) {
    heartbeat_.SetNeed({.proof = true, .lease = true});
    heartbeat_.OnConnected(reactor_.Now(), timeout, /*new_session=*/true);
  }

  bool StaysProven() {
    lapsed_ = 0;
    reactor_.Pass(10 * timeout_);
    return lapsed_ == 0 && Proven();
  }
  bool IsProvenAnewAfterALapse() {
    mute_ = true;
    reactor_.Pass(2 * timeout_);
    mute_ = false;
    Answer();
    reactor_.Pass(3 * timeout_);
    return Proven();
  }

 private:
  void SendBeat(const zk::Request& request, zk::Handle::Done done) override {
    on_its_way_ = {heartbeat_.Sent(request), std::move(done)};
    reactor_.CallAt(reactor_.Now() + absl::Milliseconds(5), [this] { Answer(); });
  }
  void OnProven() override {}
  void OnLapsed() override { ++lapsed_; }
  void Answer() {
    if (mute_ || !on_its_way_.done) return;
    auto [ticket, done] = std::exchange(on_its_way_, {});
    heartbeat_.Answered(ticket, Code::kNoNode);
    std::move(done)(zk::Reply{Code::kNoNode});
  }
  bool Proven() { return heartbeat_.validity()->ProvenUntil(reactor_.Now()) > reactor_.Now(); }

  const absl::Duration timeout_;
  FakeReactor reactor_;
  struct Sent {
    Heartbeat::Ticket ticket;
    zk::Handle::Done done;
  } on_its_way_;
  bool mute_ = false;
  int lapsed_ = 0;
  Heartbeat heartbeat_;
};

// Whether it stays proven, and after a lapse, too.
bool CanBeProvenAgainAndAgain(absl::Duration timeout, absl::Duration ping_gap,
                              machine::BeatPace::Kind pace) {
  CalmSession session(timeout, {.ping_gap = ping_gap}, pace);
  return session.StaysProven() && session.IsProvenAnewAfterALapse() && session.StaysProven();
}

TEST(MarginsWithWhichALeaseCanBeProven, AreThoseWithWhichItIsProvenAgainAndAgain) {
  using enum machine::BeatPace::Kind;
  for (const int tenths : {6, 10, 20, 40, 100, 600}) {
    const absl::Duration timeout = tenths * absl::Milliseconds(100);
    absl::Duration gap;
    for (; machine::ExpiryMargins{.ping_gap = gap + timeout / 50}.CanProve(timeout);) {
      gap += timeout / 50;
      EXPECT_TRUE(CanBeProvenAgainAndAgain(timeout, gap, kSteady)) << timeout << " " << gap;
      EXPECT_TRUE(CanBeProvenAgainAndAgain(timeout, gap, kSparse)) << timeout << " " << gap;
    }
    gap += timeout / 15;
    EXPECT_FALSE(CanBeProvenAgainAndAgain(timeout, gap, kSteady)) << "refused " << gap;
  }
}

}  // namespace
}  // namespace zkrecipes::session

// SPDX-License-Identifier: Apache-2.0

#include "lib/session/machine/beat_pace.h"

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <random>

#include <gtest/gtest.h>

#include "lib/session/machine/expiry_bound.h"

namespace zkrecipes::session::machine {
namespace {

using Kind = BeatPace::Kind;

constexpr Need kIdle = {};
constexpr Need kNear = {.proof = true};
constexpr Need kHolding = {.proof = true, .lease = true};

// A session in calm weather: the pace decides, ExpiryBound judges, and every answer takes as long.
class PacedSession {
 public:
  PacedSession(Kind kind, absl::Duration timeout, Need need = kHolding, ExpiryMargins margins = {})
      : timeout_(timeout), pace_(kind), bound_(margins) {
    bound_.Connected(now_, now_, timeout, /*new_session=*/true);
    pace_.OnConnected(timeout, bound_.lifetime(), bound_.longest_gap());
    SetNeed(need);
  }

  void SetNeed(const Need& need) { (void)pace_.SetNeed(need, now_); }
  // As Heartbeat does for a contender that comes to an idle session.
  void BeginPeriod() { bound_.Restart(); }

  // Until `time` from now; as Heartbeat does it.
  void Run(absl::Duration time) {
    for (const base::BootTime end = now_ + time; now_ < end;) {
      const BeatPace::Planned next = pace_.Next(bound_.deadline(), bound_.ProvableFrom(), now_);
      now_ = std::max(now_, next.at);
      Send(next.beat);
      while (pace_.KeepsProven(now_) && bound_.NextWriteHelps(now_, pace_.Reserve())) Send(true);
    }
  }
  void Watch() {
    beats_ = reads_ = 0;
    lowest_ = absl::InfiniteDuration();
    highest_ = absl::ZeroDuration();
    watched_since_ = now_;
  }

  // Of the timeout.
  double lowest() const { return absl::FDivDuration(lowest_, timeout_); }
  double highest() const { return absl::FDivDuration(highest_, timeout_); }
  double left() const { return absl::FDivDuration(Left(), timeout_); }
  base::BootTime now() const { return now_; }
  bool proven() const { return Left() > absl::ZeroDuration(); }
  // A second.
  double beats() const { return beats_ / absl::ToDoubleSeconds(now_ - watched_since_); }
  double reads() const { return reads_ / absl::ToDoubleSeconds(now_ - watched_since_); }

  absl::Duration latency = absl::Milliseconds(5);

 private:
  void Send(bool beat) {
    ++(beat ? beats_ : reads_);
    pace_.OnSent(beat, now_, random_());
    const ExpiryBound::Request request = bound_.Sent(now_);
    now_ = now_ + latency;
    lowest_ = std::min(lowest_, Left());
    bound_.Answered(request, now_, beat);
    highest_ = std::max(highest_, Left());
    if (beat) pace_.OnBeatAnswered(now_);
  }
  absl::Duration Left() const {
    return std::max(bound_.deadline().value_or(now_) - now_, absl::ZeroDuration());
  }

  const absl::Duration timeout_;
  BeatPace pace_;
  ExpiryBound bound_;
  std::mt19937_64 random_{1};
  base::BootTime now_ = base::BootTime::SinceBoot(absl::Seconds(1000));
  base::BootTime watched_since_;
  int beats_ = 0;
  int reads_ = 0;
  absl::Duration lowest_ = absl::InfiniteDuration(), highest_;
};

// docs/lease.md, "What is left of T" and "The price": shares of T, and how many a second.
struct Figures {
  double most, least, beats, reads;
};
struct Row {
  double timeout;  // in seconds
  Figures steady, sparse;
};
std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.timeout << "s"; }

PacedSession Watched(Kind kind, absl::Duration timeout, const Need& need = kHolding) {
  PacedSession session(kind, timeout, need);
  session.Run(2 * timeout);
  session.Watch();
  session.Run(1000 * timeout);
  return session;
}

class HealthySession : public ::testing::TestWithParam<Row> {
 protected:
  absl::Duration timeout() const { return absl::Seconds(GetParam().timeout); }
  void Check(const PacedSession& session, const Figures& figures) const {
    printf("  T = %g s: left %.3f to %.3f of it, %.3f beats and %.2f reads a second\n",
           GetParam().timeout, session.lowest(), session.highest(), session.beats(),
           session.reads());
    EXPECT_NEAR(session.highest(), figures.most, 0.02);
    EXPECT_NEAR(session.lowest(), figures.least, 0.02);
    EXPECT_NEAR(session.beats(), figures.beats, 0.1 * figures.beats);
    EXPECT_NEAR(session.reads(), figures.reads, 0.1 * figures.reads);
  }
};

TEST_P(HealthySession, HasWhatTheDocumentSaysAndCostsIt) {
  Check(Watched(Kind::kSteady, timeout()), GetParam().steady);
  Check(Watched(Kind::kSparse, timeout()), GetParam().sparse);
}

TEST_P(HealthySession, CommitsLittleForOneThatIsNearItsTurn) {
  const PacedSession near = Watched(Kind::kSteady, timeout(), kNear);
  EXPECT_NEAR(near.beats(), GetParam().sparse.beats, 0.1 * near.beats());
}

INSTANTIATE_TEST_SUITE_P(
    Timeouts, HealthySession,
    ::testing::Values(Row{0.6, {0.38, 0.15, 17.6, 58}, {0.38, 0.15, 17.6, 58}},
                      Row{1, {0.48, 0.25, 10.8, 36}, {0.48, 0.25, 10.8, 36}},
                      Row{2, {0.55, 0.39, 9.5, 16.6}, {0.54, 0.22, 3.5, 19}},
                      Row{4, {0.58, 0.41, 3.8, 9.2}, {0.57, 0.11, 1.14, 2.9}},
                      Row{6, {0.59, 0.41, 2.3, 6.1}, {0.59, 0.11, 0.72, 1.8}},
                      Row{10, {0.60, 0.41, 1.3, 3.7}, {0.59, 0.11, 0.43, 1.06}},
                      Row{30, {0.61, 0.41, 0.43, 1.2}, {0.60, 0.11, 0.14, 0.35}},
                      Row{60, {0.61, 0.41, 0.21, 0.62}, {0.61, 0.11, 0.07, 0.17}}));

// Of timeouts that leave room for it, in seconds.
class SteadySession : public ::testing::TestWithParam<double> {
 protected:
  absl::Duration timeout() const { return absl::Seconds(GetParam()); }
};

TEST_P(SteadySession, NeverHasLessThanFourTenthsOfT) {
  for (const int latency : {1, 2, 5, 10, 20}) {
    PacedSession session(Kind::kSteady, timeout());
    session.latency = absl::Milliseconds(latency);
    session.Run(1000 * timeout());
    EXPECT_GE(session.lowest(), 0.4) << latency << " ms";
  }
}

TEST_P(SteadySession, HasItsReserveRightAfterTheGrantOfOneThatWasNearItsTurn) {
  for (int i = 0; i < 200; ++i) {
    PacedSession session(Kind::kSteady, timeout(), kNear);
    session.Run(10 * timeout() + i * timeout() / 170);
    session.SetNeed(kHolding);
    session.Run(3 * session.latency);  // a pair of beats
    session.Watch();
    session.Run(timeout());
    EXPECT_GE(session.lowest(), 0.4) << i;
  }
}

// The first proof rests on the reads of an idle session, which are further apart than those for a
// holder. From a ping gap after its grant on the latter count.
TEST_P(SteadySession, HasAThirdOfTAfterTheFirstProofOfAnIdleOneAndSoonItsReserve) {
  for (int i = 0; i < 200; ++i) {
    PacedSession session(Kind::kSteady, timeout(), kIdle);
    session.Run(10 * timeout() + i * timeout() / 170);
    session.SetNeed(kHolding);
    session.BeginPeriod();
    for (int tries = 0; tries < 30 && !session.proven(); ++tries) {
      session.Run(absl::Milliseconds(10));
    }
    session.Watch();
    session.Run(0.35 * timeout());
    EXPECT_GE(session.lowest(), 1.0 / 3) << i;
    session.Watch();
    session.Run(2 * timeout());
    EXPECT_GE(session.lowest(), 0.4) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Timeouts, SteadySession, ::testing::Values(4, 5, 6, 8, 10, 20, 30, 60));

TEST(BeatPace, KeepsAtMostTwoWritesASecondAtTenSeconds) {
  for (const int latency : {1, 5, 20, 50, 100, 200}) {
    PacedSession session(Kind::kSteady, absl::Seconds(10));
    session.latency = absl::Milliseconds(latency);
    session.Run(absl::Seconds(20));
    session.Watch();
    session.Run(absl::Hours(1));
    EXPECT_LE(session.beats(), 2) << latency << " ms";
  }
}

// docs/lease.md has the figures for 350 ms.
TEST(BeatPace, KeepsMoreForTheSameWritesWhereThePingGapIsKnown) {
  const ExpiryMargins margins{.ping_gap = absl::Milliseconds(350)};
  for (const auto& [timeout, least] : {std::pair(4, 0.59), {6, 0.62}, {10, 0.65}, {30, 0.67}}) {
    PacedSession session(Kind::kSteady, absl::Seconds(timeout), kHolding, margins);
    session.Run(absl::Seconds(2 * timeout));
    session.Watch();
    session.Run(absl::Seconds(1000 * timeout));
    EXPECT_NEAR(session.lowest(), least, 0.01) << timeout;
    EXPECT_LE(session.beats(), 14.0 / timeout) << timeout;
  }
}

TEST(BeatPace, SendsOnlyReadsForAnIdleSession) {
  for (const Kind kind : {Kind::kSteady, Kind::kSparse}) {
    PacedSession session(kind, absl::Seconds(10), kIdle);
    session.Watch();
    session.Run(absl::Hours(1));
    EXPECT_EQ(session.beats(), 0);
    EXPECT_NEAR(session.reads(), kind == Kind::kSteady ? 1.1 : 0.55, 0.06);
  }
}

TEST(BeatPace, KeepsASessionProvenForThreeTimeoutsAfterItsLastLeaseAFleetsForOne) {
  const auto at = [](double seconds) { return base::BootTime::SinceBoot(absl::Seconds(seconds)); };
  for (const auto& [kind, until] : {std::pair(Kind::kSteady, 132), {Kind::kSparse, 112}}) {
    BeatPace pace(kind);
    pace.OnConnected(absl::Seconds(10), absl::Seconds(9), absl::Seconds(3));
    EXPECT_TRUE(pace.SetNeed(kNear, at(100)));
    EXPECT_EQ(pace.SetNeed(kHolding, at(101)), kind == Kind::kSteady) << "more is to be left";
    EXPECT_FALSE(pace.SetNeed(kNear, at(102))) << "one more waits";
    EXPECT_FALSE(pace.SetNeed(kIdle, at(103)));
    EXPECT_TRUE(pace.KeepsProven(at(until - 0.1)));
    EXPECT_FALSE(pace.KeepsProven(at(until + 0.1)));
    EXPECT_TRUE(pace.SetNeed(kNear, at(until + 1)));
    EXPECT_FALSE(pace.SetNeed(kIdle, at(until + 2)));
    EXPECT_FALSE(pace.KeepsProven(at(until + 2))) << "it held none";
    pace.SetNeed({.proof = true, .first = true}, at(until + 3));
    pace.SetNeed(kIdle, at(until + 4));
    EXPECT_TRUE(pace.KeepsProven(at(until + 13.9))) << "it gave up, and may try again";
    EXPECT_FALSE(pace.KeepsProven(at(until + 14.1)));
  }
}

// What an acquire of an idle client waits for: the rule's moment, and no more, however long a round
// trip is.
TEST(BeatPace, ProvesAnIdleSessionWithinThreeRoundTripsAndALeadersMoment) {
  for (const int latency : {1, 5, 20, 50, 90}) {
    PacedSession session(Kind::kSteady, absl::Seconds(10), kIdle);
    session.latency = absl::Milliseconds(latency);
    session.Run(absl::Minutes(1));
    session.BeginPeriod();
    session.SetNeed(kNear);
    const base::BootTime asked = session.now();
    while (!session.proven()) session.Run(absl::Milliseconds(1));
    EXPECT_EQ(session.now() - asked, 3 * session.latency + absl::Milliseconds(100)) << latency;
  }
}

}  // namespace
}  // namespace zkrecipes::session::machine

// SPDX-License-Identifier: Apache-2.0

#include "lib/session/machine/beat_pace.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/session/machine/expiry_bound.h"

namespace zkrecipes::session::machine {
namespace {

constexpr absl::Duration kLatency = absl::Milliseconds(5);

// A session on a healthy ensemble: the pace decides, ExpiryBound judges.
class PacedSession {
 public:
  explicit PacedSession(absl::Duration timeout, ExpiryMargins margins = {})
      : timeout_(timeout), bound_(margins) {
    bound_.Connected(now_, now_, timeout, /*new_session=*/true);
    pace_.last_request = pace_.last_beat = now_;
    pace_.busy = pace_.wanted = true;
  }

  BeatPace Now() {
    pace_.timeout = timeout_;
    pace_.lifetime = bound_.lifetime();
    pace_.longest_gap = bound_.longest_gap();
    pace_.deadline = bound_.deadline();
    return pace_;
  }
  // Until `time` from now; as Heartbeat does it.
  void Run(absl::Duration time) {
    for (const base::BootTime end = now_ + time; now_ < end;) {
      const BeatPace::Planned next = Now().Next();
      now_ = std::max(now_, next.at);
      Send(next.beat);
      while (bound_.NextWriteHelps(now_, Now().Reserve())) Send(/*beat=*/true);
    }
  }

  int beats_ = 0;
  int reads_ = 0;
  absl::Duration lowest_ = absl::InfiniteDuration();
  absl::Duration highest_;
  BeatPace pace_;

 private:
  void Send(bool beat) {
    ++(beat ? beats_ : reads_);
    pace_.last_request = now_;
    if (beat) {
      pace_.last_beat = now_;
      pace_.share = pace_.share > 0.9 ? pace_.share - 0.41 : pace_.share + 0.1;
    }
    const ExpiryBound::Request request = bound_.Sent(now_);
    now_ = now_ + kLatency;
    lowest_ = std::min(lowest_, Left());
    bound_.Answered(request, now_, beat);
    highest_ = std::max(highest_, Left());
    if (beat) pace_.took = kLatency;
  }
  absl::Duration Left() const { return bound_.deadline().value_or(now_) - now_; }

  const absl::Duration timeout_;
  ExpiryBound bound_;
  base::BootTime now_ = base::BootTime::SinceBoot(absl::Seconds(1000));
};

// docs/lease.md, "What is left of T", and "The price".
struct Row {
  double timeout, most_left, least_left, beats, reads;  // seconds, and how many a second
};

class HealthySession : public ::testing::TestWithParam<Row> {};

TEST_P(HealthySession, HasWhatTheDocumentSaysAndCostsIt) {
  const Row& row = GetParam();
  PacedSession session(absl::Seconds(row.timeout));
  session.Run(absl::Seconds(row.timeout * 2));
  session.beats_ = session.reads_ = 0;
  session.lowest_ = absl::InfiniteDuration();
  session.highest_ = absl::ZeroDuration();
  constexpr int kTimeouts = 1000;
  session.Run(absl::Seconds(row.timeout * kTimeouts));
  printf("  T = %g s: left %.2f to %.2f s, %.3f beats and %.2f reads a second\n", row.timeout,
         absl::ToDoubleSeconds(session.lowest_), absl::ToDoubleSeconds(session.highest_),
         session.beats_ / (row.timeout * kTimeouts), session.reads_ / (row.timeout * kTimeouts));
  EXPECT_NEAR(absl::ToDoubleSeconds(session.highest_), row.most_left, 0.1 * row.most_left);
  EXPECT_NEAR(absl::ToDoubleSeconds(session.lowest_), row.least_left, 0.1 * row.least_left);
  const double seconds = row.timeout * kTimeouts;
  EXPECT_NEAR(session.beats_ / seconds, row.beats, 0.1 * row.beats);
  EXPECT_NEAR(session.reads_ / seconds, row.reads, 0.1 * row.reads);
}

INSTANTIATE_TEST_SUITE_P(Timeouts, HealthySession,
                         ::testing::Values(Row{1, 0.46, 0.2, 10, 16},       //
                                           Row{2, 1.0, 0.44, 4.9, 9.8},     //
                                           Row{6, 3.4, 0.64, 0.76, 1.8},    //
                                           Row{10, 5.7, 1.07, 0.45, 1.06},  //
                                           Row{30, 17.6, 3.2, 0.145, 0.35}));

}  // namespace
}  // namespace zkrecipes::session::machine

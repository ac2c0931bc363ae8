// SPDX-License-Identifier: Apache-2.0

#include "lib/session/machine/beat_pace.h"

#include <algorithm>
#include <utility>

namespace zkrecipes::session::machine {
namespace {

// The steady pace promises 0.4 T; what a timer and an answer are late comes out of the rest. Where
// the ping gap is known to be small it keeps more, for the same number of beats.
constexpr double kSteadyShare = 0.41;
constexpr int kSteadyPairsPerTimeout = 6;
// The sparse one leaves what two writes may take on a busy disk or machine, however short T is.
constexpr double kSparseShare = 3.0 / 28;
constexpr absl::Duration kLeastSparse = absl::Milliseconds(450);
constexpr int kSpreadFraction = 28;

// However little is left, pairs of beats are at least so far apart; a little more often than the
// steady pace needs, and where T is short at most five times a second.
constexpr int kPairsPerTimeout = 14;
constexpr int kLeastPairsPerTimeout = 5;
constexpr absl::Duration kPairsApart = absl::Milliseconds(200);
// Single beats, which confirm what was proven before.
constexpr int kBeatsPerTimeout = 10;
constexpr absl::Duration kUnprovenPeriod = absl::Milliseconds(130);  // if it is shorter

// Before each pair come a touch that counts, one after it that the server may drop, and two more
// in case that answers are late.
constexpr int kTouches = 4;
constexpr int kReadsPerTimeout = 40;
constexpr int kSteadyIdleReadsPerTimeout = 10;
constexpr int kSparseIdleReadsPerTimeout = 5;

// After its last lease a session stays proven for so many timeouts. A fleet's sessions are many.
constexpr int kSteadyTimeoutsAfterALease = 3;
constexpr int kSparseTimeoutsAfterALease = 1;

constexpr int kOverdueFraction = 4;      // without a proof
constexpr double kDoubtShare = 2.0 / 3;  // of what the sparse pace leaves
constexpr int kTooLittleFraction = 8;

}  // namespace

void BeatPace::OnConnected(absl::Duration timeout, absl::Duration lifetime,
                           absl::Duration longest_gap, bool provable) {
  timeout_ = timeout;
  provable_ = provable;
  longest_gap_ = longest_gap;
  const absl::Duration after_beats = lifetime - longest_gap - 2 * timeout / kReadsPerTimeout;
  steady_ = std::max(timeout * kSteadyShare, after_beats - timeout / kSteadyPairsPerTimeout);
  sparse_ = std::max(timeout * kSparseShare, kLeastSparse);
  spread_ = timeout / kSpreadFraction;
  overdue_after_ = timeout / kOverdueFraction;
  doubt_ = sparse_ * kDoubtShare;
  too_little_ = std::min(sparse_, timeout / kTooLittleFraction);
  reads_apart_ = timeout / kReadsPerTimeout;
  idle_reads_apart_ =
      timeout / (kind_ == Kind::kSteady ? kSteadyIdleReadsPerTimeout : kSparseIdleReadsPerTimeout);
  after_a_lease_ =
      timeout * (kind_ == Kind::kSteady ? kSteadyTimeoutsAfterALease : kSparseTimeoutsAfterALease);
  single_beats_apart_ = timeout / kBeatsPerTimeout;
  pairs_apart_ =
      std::min(std::max(timeout / kPairsPerTimeout, kPairsApart), timeout / kLeastPairsPerTimeout);
  // Where pairs come faster than a ping gap, the touches of the next but one come before the next:
  // also in the first interval, which is longer, since a handshake is proven for a whole lifetime.
  reads_all_the_time_ = kind_ == Kind::kSteady ||
                        after_beats - sparse_ - spread_ < longest_gap_ + kTouches * reads_apart_;
  Vary(share_);
}

void BeatPace::Vary(double share) {
  share_ = share;
  varied_spread_ = spread_ * share;
  varied_pairs_apart_ = Varied(pairs_apart_);
  varied_idle_reads_apart_ = Varied(idle_reads_apart_);
}

bool BeatPace::SetNeed(const Need& need, base::BootTime now) {
  const bool kept_proven = KeepsProven(now);
  const Need before = std::exchange(need_, need);
  if (before.lease && !need.lease) proven_until_ = now + after_a_lease_;
  // An acquire that gave up at its proof may be made again, with as little time.
  if (before.first && !need.first && !need.lease) {
    proven_until_ = std::max(proven_until_, now + timeout_);
  }
  const bool more_is_left = kind_ == Kind::kSteady && need.lease && !before.lease;
  return more_is_left || (need.proof && !kept_proven) ||
         need.delay_lifetime < before.delay_lifetime;
}

void BeatPace::OnSent(bool beat, base::BootTime now, uint64_t random) {
  last_request_ = now;
  if (beat) last_beat_ = now;
  // Not for each read before a beat: of so many choices the earliest would win.
  if (beat || !KeepsProven(now)) Vary(static_cast<double>(random) * 0x1p-64);
}

void BeatPace::OnBeatAnswered(base::BootTime now, bool refused) {
  pair_takes_ = 2 * (now - last_beat_);
  refused_ = refused;
}

absl::Duration BeatPace::Least() const {
  return (kind_ == Kind::kSteady && need_.lease ? steady_ : sparse_) + pair_takes_;
}

base::BootTime BeatPace::OverdueAt(base::BootTime deadline, base::BootTime now) const {
  return std::max(now + overdue_after_, deadline - doubt_);
}

base::BootTime BeatPace::NextBeat(std::optional<base::BootTime> deadline,
                                  std::optional<base::BootTime> provable_from) const {
  if (!deadline.has_value()) {
    const bool soon = need_.proof && provable_;
    // An acquire may wait for it: so as soon as it proves the session, and no sooner. Where T is
    // short, beats in between leave more of it. A server that refuses beats is not asked at once.
    const bool in_one = single_beats_apart_ >= kUnprovenPeriod;
    if (soon && in_one && !refused_ && provable_from.has_value()) return *provable_from;
    return last_beat_ +
           Varied(soon ? std::min(single_beats_apart_, kUnprovenPeriod) : single_beats_apart_);
  }
  const base::BootTime next =
      std::max(*deadline - (Least() + varied_spread_), last_beat_ + varied_pairs_apart_);
  if (need_.delay_lifetime == absl::InfiniteDuration()) return next;
  return std::min(next,
                  last_beat_ + Varied(std::max(single_beats_apart_, need_.delay_lifetime / 2)));
}

BeatPace::Planned BeatPace::Next(std::optional<base::BootTime> deadline,
                                 std::optional<base::BootTime> provable_from,
                                 base::BootTime now) const {
  if (!KeepsProven(now)) return {last_request_ + varied_idle_reads_apart_, false};
  const base::BootTime beat = NextBeat(deadline, provable_from);
  if (!deadline.has_value()) return {beat, true};
  const base::BootTime first = beat - (longest_gap_ + kTouches * reads_apart_ + pair_takes_);
  const bool all_the_time = reads_all_the_time_ || first < last_beat_;
  const base::BootTime soonest = last_request_ + reads_apart_;
  const base::BootTime read = all_the_time ? soonest : std::max(first, soonest);
  const base::BootTime until = all_the_time ? beat : beat - longest_gap_;
  return read < until ? Planned{read, false} : Planned{beat, true};
}

}  // namespace zkrecipes::session::machine

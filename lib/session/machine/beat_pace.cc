// SPDX-License-Identifier: Apache-2.0

#include "lib/session/machine/beat_pace.h"

#include <algorithm>

namespace zkrecipes::session::machine {
namespace {

constexpr int kReadsPerTimeout = 5;   // of an idle session
constexpr int kProofsPerTimeout = 5;  // at most: ten beats
constexpr int kBeatsPerTimeout = 10;  // at most, of those that only confirm
constexpr absl::Duration kUnprovenPeriod = absl::Milliseconds(130);  // of beats, if it is shorter

constexpr int kReserveFraction = 7;
// What a busy disk or machine may take for two writes, however short T is.
constexpr absl::Duration kLeastReserve = absl::Milliseconds(600);
constexpr int kLeastFraction = 8;

// Touches before each proof: one that counts, one after it that the server may drop, and two more
// in case that answers are late.
constexpr int kTouches = 4;
constexpr int kTouchesPerTimeout = 40;
constexpr int kTouchesPerTimeoutAtOtherTimes = 20;

}  // namespace

absl::Duration BeatPace::Varied(absl::Duration longest) const {
  const absl::Duration varied = longest * 2 / 5;
  return longest - varied + varied * share;
}

absl::Duration BeatPace::Reserve() const {
  return std::max(timeout / kReserveFraction, kLeastReserve) + 2 * took;
}

absl::Duration BeatPace::Least() const {
  return std::min(std::max(timeout / kReserveFraction, kLeastReserve) * 3 / 4,
                  timeout / kLeastFraction);
}

// At most so often: ten beats in T while the reserve is out of reach; more while it is only
// missing.
absl::Duration BeatPace::ProofsApart() const {
  const absl::Duration in_reach =
      lifetime - longest_gap - 2 * timeout / kTouchesPerTimeout - Reserve();
  return timeout / (in_reach < timeout / kProofsPerTimeout ? kProofsPerTimeout : kBeatsPerTimeout);
}

base::BootTime BeatPace::NextBeat() const {
  if (!deadline.has_value()) {
    const absl::Duration longest = timeout / kBeatsPerTimeout;
    return last_beat + Varied(wanted ? std::min(longest, kUnprovenPeriod) : longest);
  }
  const absl::Duration varied = Reserve() / 2;  // of which half stays
  base::BootTime next = *deadline - (Reserve() - varied + varied * share);
  next = std::max(next, last_beat + Varied(ProofsApart()));
  if (delay_lifetime == absl::InfiniteDuration()) return next;
  const absl::Duration confirm = std::max(timeout / kBeatsPerTimeout, delay_lifetime / 2);
  return std::min(next, last_beat + Varied(confirm));
}

BeatPace::Planned BeatPace::Next() const {
  if (!busy) return {last_request + Varied(timeout / kReadsPerTimeout), false};
  const base::BootTime beat = NextBeat();
  if (!deadline.has_value()) return {beat, true};
  const absl::Duration apart = timeout / kTouchesPerTimeout;
  const base::BootTime first = beat - (longest_gap + kTouches * apart + 2 * took);
  // Proofs follow each other so fast that the touches of the next but one come before the next.
  const bool all_the_time = first < last_beat;
  const base::BootTime touch = all_the_time
                                   ? last_request + timeout / kTouchesPerTimeoutAtOtherTimes
                                   : std::max(first, last_request + apart);
  const base::BootTime until = all_the_time ? beat : beat - longest_gap;
  return touch < until ? Planned{touch, false} : Planned{beat, true};
}

}  // namespace zkrecipes::session::machine

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_MACHINE_BEAT_PACE_H_
#define ZKRECIPES_LIB_SESSION_MACHINE_BEAT_PACE_H_

#include <optional>

#include "absl/time/time.h"

#include "lib/base/boot_time.h"

namespace zkrecipes::session::machine {

// When a session sends its next request of its own, and whether that is a beat (a write) or a read.
// A proof takes two beats, one right behind the other, and touches that are a ping gap old by then
// (expiry_bound.h). Touches are reads, which cost no transaction: so beats come as late as the
// deadline lets them, and a few touches at the time that makes them worth most.
//
//   beats                    touches                       beats             deadline
//    | |                      | | |                         | |                  |
//    --+----------------------+---+-------------------------+-+------------------+--->
//                                 |<----- a ping gap ------>|  |<--- reserve --->|
//
// docs/lease.md ("What is left of T") derives it. Pure: decides nothing about what is believed.
struct BeatPace {
  absl::Duration timeout;      // T
  absl::Duration lifetime;     // what a touch proves
  absl::Duration longest_gap;  // between two pings, by this clock

  bool busy = false;    // to be kept proven; else only reads are sent, which keep touches available
  bool wanted = false;  // and not only because it was a moment ago
  std::optional<base::BootTime> deadline;  // nullopt: unproven
  base::BootTime last_request;             // when it was sent, and
  base::BootTime last_beat;
  absl::Duration took;  // the last beat's answer
  // A write has to be confirmed within this time after the last one: lock-delay mode.
  absl::Duration delay_lifetime = absl::InfiniteDuration();
  // From a half to 1, at random, so that neither sessions nor beats and pings fall into step.
  // Another one after each beat.
  double share = 1;

  struct Planned {
    base::BootTime at;  // the past: now
    bool beat = false;
  };
  Planned Next() const;
  // Beats are due so long before the deadline, or less by up to a fourth.
  absl::Duration Reserve() const;
  // The least that is left of a healthy session's proof, unless T is so short that even this is too
  // much.
  absl::Duration Least() const;

 private:
  absl::Duration Varied(absl::Duration longest) const;  // by up to a fifth less
  base::BootTime NextBeat() const;
  absl::Duration ProofsApart() const;
};

}  // namespace zkrecipes::session::machine

#endif  // ZKRECIPES_LIB_SESSION_MACHINE_BEAT_PACE_H_

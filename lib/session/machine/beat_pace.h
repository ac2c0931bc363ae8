// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_MACHINE_BEAT_PACE_H_
#define ZKRECIPES_LIB_SESSION_MACHINE_BEAT_PACE_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"

#include "lib/base/boot_time.h"

namespace zkrecipes::session::machine {

// What a session's contender needs, or several of them together.
struct Need {
  bool proof = false;  // one holds a lease, or is near its turn
  bool lease = false;  // one holds a lease. Implies `proof`
  // A lease is believed only so long after the last confirmed write: lock-delay mode.
  absl::Duration delay_lifetime = absl::InfiniteDuration();
  bool first = false;  // one is first in its queue, and waits for the proof alone

  friend bool operator==(const Need&, const Need&) = default;
};

// Decides when a session sends its next request of its own, and whether that is a beat (a write) or
// a read. A proof takes two beats, one right behind the other, and touches that are a ping gap old
// by then (expiry_bound.h). Touches are reads, which cost no transaction: so beats come as late as
// the deadline lets them, and reads when they count.
//
//   beats                    reads                         beats             deadline
//    | |                      | | |                         | |                  |
//    --+----------------------+---+-------------------------+-+------------------+--->
//                                 |<----- a ping gap ------>|  |<--- reserve --->|
//
// The steady pace keeps a large reserve while a lease is held, and reads all the time; so one that
// waits near its turn needs few beats, and has the reserve right after its grant. docs/lease.md
// ("What is left of T") derives the figures.
//
// Pure: the caller says what time it is. Decides nothing about what is believed.
class BeatPace {
 public:
  enum class Kind { kSteady, kSparse };  // see LeaseOptions::Pace

  explicit BeatPace(Kind kind) : kind_(kind) {}

  // `lifetime`: what a touch proves. `longest_gap`: between two pings, by this clock. `provable`:
  // otherwise beats only confirm, for leases that need no proof.
  void OnConnected(absl::Duration timeout, absl::Duration lifetime, absl::Duration longest_gap,
                   bool provable = true);
  // Returns whether a request may now be due sooner than Next said before.
  bool SetNeed(const Need& need, base::BootTime now);
  const Need& need() const { return need_; }
  // The request that was due is sent. From `random` comes what keeps sessions out of step.
  void OnSent(bool beat, base::BootTime now, uint64_t random);
  // `refused`: the server did not carry it out, as one that throttles, or the connection was lost.
  void OnBeatAnswered(base::BootTime now, bool refused = false);

  // Clients take turns, so a session stays proven for a while after its last lease, too: an acquire
  // within that time is granted without a wait for a proof. Others send only reads, which keep
  // touches available.
  bool KeepsProven(base::BootTime now) const { return need_.proof || now < proven_until_; }

  struct Planned {
    base::BootTime at;  // the past: now
    bool beat = false;
  };
  // Of ExpiryBound: `deadline` (nullopt: unproven) and ProvableFrom.
  Planned Next(std::optional<base::BootTime> deadline, std::optional<base::BootTime> provable_from,
               base::BootTime now) const;
  // What is left at the lowest in calm weather, if T leaves room for it. Beats are due when no more
  // than the reserve is left, or up to a spread later.
  absl::Duration Least() const;
  absl::Duration Reserve() const { return Least() + spread_; }
  absl::Duration PairsApart() const { return pairs_apart_; }  // at random up to a fifth less
  // From then on a session that was proven `now` is in doubt: an answer is late.
  base::BootTime OverdueAt(base::BootTime deadline, base::BootTime now) const;
  // With less a new lease had better begin with a proof of its own.
  absl::Duration TooLittle() const { return too_little_; }

 private:
  absl::Duration Varied(absl::Duration longest) const { return longest * (0.8 + 0.2 * share_); }
  void Vary(double share);
  base::BootTime NextBeat(std::optional<base::BootTime> deadline,
                          std::optional<base::BootTime> provable_from) const;

  const Kind kind_;
  absl::Duration timeout_;  // T
  absl::Duration longest_gap_;
  bool provable_ = true;
  // Of T, and asked for at every answer, grant and release: so they are not worked out each time.
  absl::Duration steady_, sparse_;  // what is left at the lowest
  absl::Duration spread_;           // and up to so much more
  absl::Duration overdue_after_, doubt_, too_little_, after_a_lease_;
  bool reads_all_the_time_ = true;
  absl::Duration reads_apart_, idle_reads_apart_, single_beats_apart_, pairs_apart_;

  Need need_;
  base::BootTime proven_until_;
  base::BootTime last_request_;  // when it was sent, and
  base::BootTime last_beat_;
  absl::Duration pair_takes_;  // two beats, if each takes as long as the last one
  bool refused_ = false;       // the last beat
  double share_ = 1;           // from 0 to 1, another one after each beat; and with it:
  absl::Duration varied_spread_, varied_pairs_apart_, varied_idle_reads_apart_;
};

}  // namespace zkrecipes::session::machine

#endif  // ZKRECIPES_LIB_SESSION_MACHINE_BEAT_PACE_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_MACHINE_EXPIRY_BOUND_H_
#define ZKRECIPES_LIB_SESSION_MACHINE_EXPIRY_BOUND_H_

#include <cstdint>
#include <deque>
#include <optional>

#include "absl/time/time.h"

#include "lib/base/boot_time.h"

namespace zkrecipes::session::machine {

// Assumptions about machines, which no client can measure: see docs/lease.md.
struct ExpiryMargins {
  // How late a busy leader may be.
  static constexpr absl::Duration kLeadersDelay = absl::Milliseconds(100);

  double clock_rate_bound = 0.1;
  absl::Duration ping_gap;  // between two pings of the leader; zero: see PingGap
  absl::Duration slack = absl::Milliseconds(10);
  // Within it a leader ends a session whose time it has found to be over.
  absl::Duration moment = kLeadersDelay;

  // How much of a session timeout, counted from a touch, this client may count on.
  absl::Duration Lifetime(absl::Duration session_timeout) const;
  // The same for a lock delay, counted from a confirmed write.
  absl::Duration DelayLifetime(absl::Duration lock_delay) const;
  absl::Duration PingGap(absl::Duration session_timeout) const;
  // The ping gap on a leader's clock that is slower than this one.
  absl::Duration LongestGap(absl::Duration session_timeout) const;

  // What is left of a proof in calm weather, at the least: the touch that counts is a ping gap old,
  // and as much as reads are apart, twice (beat_pace.cc).
  absl::Duration LeftOfAProof(absl::Duration session_timeout) const;
  // With less, a session that is not proven never is, or cannot be proven anew in time.
  static absl::Duration LeastLeft(absl::Duration session_timeout);
  bool CanProve(absl::Duration session_timeout) const {
    return LeftOfAProof(session_timeout) >= LeastLeft(session_timeout);
  }
};

// Until when the ensemble cannot have expired a session, as far as this client can prove it from
// the times at which it sent requests and read their answers. docs/lease.md derives the rules:
//
//   touch       any answered request. The server that answered tells the leader of it when the
//               leader pings; then the leader's timer starts at the touch's sending or later.
//   shipped     a touch is under way to the leader once a write was answered that was sent a ping
//               gap after the touch was answered: the pings come ahead of the write's commit.
//               (The touch before is used, since a server may drop one while it collects them.)
//   confirmed   a write sent after that and committed: the session was alive when the leader had
//               heard of the touch. It lives for a session timeout from the touch's sending, if it
//               was proven until then. Otherwise the leader may just have been about to end it: so
//               another write has to follow, a moment later.
//   handshake   a touch of the leader itself. For a new session it is a write of its own; when a
//               session is resumed, a write that is committed after it confirms it, if the session
//               was proven until then: otherwise it may just have expired.
//
// Pure: the caller says what time it is. Not thread-safe.
class ExpiryBound {
 public:
  // A request under way. Whether it follows an answer is decided by order, not by the clock: both
  // may happen at one instant.
  struct Request {
    uint64_t connection = 0;
    uint64_t number = 0;
    base::BootTime sent;
  };

  explicit ExpiryBound(const ExpiryMargins& margins) : margins_(margins) {}

  // `began`: before the client began to connect. `timeout`: as negotiated now.
  void Connected(base::BootTime began, base::BootTime now, absl::Duration timeout,
                 bool new_session);
  // Requests that have not been answered prove nothing.
  void Disconnected();
  // Forgets what was proven, even that it was proven without a gap.
  void Restart() { deadline_.reset(); }

  Request Sent(base::BootTime now) { return {connection_, ++sent_, now}; }
  // `committed`: by the quorum, whatever its outcome. REQUIRES: in the order of sending.
  void Answered(const Request& request, base::BootTime now, bool committed);

  // nullopt: unproven.
  std::optional<base::BootTime> deadline() const { return deadline_; }
  // True if no more than `little` is left, and a write that is sent now will gain some once it is
  // answered.
  bool NextWriteHelps(base::BootTime now, absl::Duration little) const;

  // Of an unproven session: from when on one more write proves it, if the leader has already heard
  // of a touch; a moment after that.
  std::optional<base::BootTime> ProvableFrom() const;

  absl::Duration timeout() const { return timeout_; }          // the smallest of the session
  absl::Duration lifetime() const { return lifetime_; }        // what a touch proves
  absl::Duration longest_gap() const { return longest_gap_; }  // of pings, by this clock

 private:
  struct Touch {
    base::BootTime sent;
    base::BootTime answered;
  };
  struct Shipped {
    uint64_t known_after;  // as many requests: the next one follows the touch
    base::BootTime touch;  // when it was sent
  };
  struct Heard {
    base::BootTime known_at;
    base::BootTime touch;
  };

  void SetTimeout(absl::Duration timeout);
  bool WasNotEnding(const Request& request, base::BootTime now) const;
  void Confirm(const Request& request, base::BootTime now);
  void Ship(const Request& request);
  void AddTouch(base::BootTime sent, base::BootTime answered);

  const ExpiryMargins margins_;
  absl::Duration timeout_ = absl::InfiniteDuration();
  absl::Duration lifetime_ = absl::InfiniteDuration();  // the margins' of timeout_
  absl::Duration longest_gap_ = absl::InfiniteDuration();
  absl::Duration touches_apart_ = absl::InfiniteDuration();  // at least
  uint64_t connection_ = 0;
  uint64_t sent_ = 0;  // requests, ever
  base::BootTime began_;
  // On this connection, oldest first.
  std::deque<Touch> touches_;
  std::deque<Shipped> shipped_;
  // While unproven: the leader had heard of this touch then, but maybe too late.
  std::optional<Heard> heard_;
  std::optional<base::BootTime> deadline_;
};

}  // namespace zkrecipes::session::machine

#endif  // ZKRECIPES_LIB_SESSION_MACHINE_EXPIRY_BOUND_H_

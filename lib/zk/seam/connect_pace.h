// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_SEAM_CONNECT_PACE_H_
#define ZKRECIPES_LIB_ZK_SEAM_CONNECT_PACE_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

#include "lib/base/boot_time.h"

namespace zkrecipes::zk::inline seam {

// When a client that has no connection tries to get one, and how long each attempt may take: a pure
// value, from the first failure to a connection that lasts, whatever handles serve it in between.
// T is the session timeout, but never less than 1 s nor more than 40 s here: a server may grant
// anything. docs/adr/0026 and 0055 have the reasons and the figures.
//
// An attempt to resume a session is given clamp(T/8, 0.4 s, 5 s), and clamp(T/20, 0.3 s, 1 s) of it
// until the server's kernel has accepted the connection: of three servers two may drop every
// packet, and the lease lives. After T/2 without a connection there is hardly a lease to be saved,
// and an attempt to be given a new session can leave one behind if it is given up: such an attempt
// has clamp(T/3, 1 s, 5 s), since servers that many clients come back to are slow. Each time that a
// round of attempts has run out of its time, the next ones are given four times as long, up to the
// 2T/3 after which the C client gives up.
//
// The first pause is anything up to T/50, because a whole fleet loses its connections in the same
// instant. Each further one is between half a limit and the whole limit, which doubles up to T/10
// for the first T without a connection, when a session may still be saved, and then up to T/3.
//
// A connection ends the series only when a request is answered on it T/10 after it began: a server
// may grant sessions and hang up.
class ConnectPace {
 public:
  struct Terms {
    absl::Duration session_timeout;  // T
    int servers = 1;
    bool resumes = false;  // the attempt is to resume a session
  };

  // From the beginning of an attempt at `now` until the connection is there, and until the session
  // is.
  absl::Duration ConnectLimit(const Terms& terms, base::BootTime now) const;
  absl::Duration AttemptLimit(const Terms& terms, base::BootTime now) const;
  // The longest that the pause after a failure at `now` can be.
  absl::Duration PauseLimit(const Terms& terms, base::BootTime now) const;

  // An attempt has failed, or a connection was lost. `late`: the attempt ran out of its time.
  void Failed(const Terms& terms, base::BootTime now, bool late, uint64_t random_bits);
  void Connected(base::BootTime now) { connected_ = now; }
  // A request, on the connection that there is.
  void Answered(const Terms& terms, base::BootTime now);
  // A server says that the session has ended: the next one need not wait for its first attempt.
  void Expired() { next_attempt_ = {}; }
  // The attempts of one round: one name may stand for several servers.
  static int Round(int servers) { return std::max(servers, 3); }
  bool failing() const { return failures_ > 0; }
  // No attempt before.
  base::BootTime next_attempt() const { return next_attempt_; }

 private:
  bool MaySaveLease(const Terms& terms, base::BootTime now) const;
  absl::Duration Grown(absl::Duration first, const Terms& terms) const;

  int failures_ = 0;
  int late_ = 0;                 // of them ran out of their time
  base::BootTime first_failed_;  // if failures_ > 0
  base::BootTime connected_;
  base::BootTime next_attempt_;
};

}  // namespace zkrecipes::zk::inline seam

#endif  // ZKRECIPES_LIB_ZK_SEAM_CONNECT_PACE_H_

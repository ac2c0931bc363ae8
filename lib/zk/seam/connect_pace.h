// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_SEAM_CONNECT_PACE_H_
#define ZKRECIPES_LIB_ZK_SEAM_CONNECT_PACE_H_

#include <cstdint>

#include "absl/time/time.h"

#include "lib/base/boot_time.h"

namespace zkrecipes::zk::inline seam {

// When a client that has no connection tries to get one, and how long each attempt may take: a pure
// value, from the first failure to the next connection, whatever handles serve it in between.
// T is the session timeout. docs/adr/0026 has the reasons and the figures.
//
// An attempt is given clamp(T/3, 1 s, 5 s), so that a dead server leaves time to reach another one.
// Each time that as many attempts as there are servers have run out of their time, the next ones
// are given four times as long, up to the 2T/3 after which the C client gives up: a server may be
// slow, and each attempt that is given up can leave a session behind.
//
// The first pause is anything up to T/50, because a whole fleet loses its connections in the same
// instant. Each further one is between half a limit and the whole limit, which doubles up to T/10
// for the first T without a connection, when a session may still be saved, and then up to T/3.
class ConnectPace {
 public:
  struct Terms {
    absl::Duration session_timeout;  // T
    int servers = 1;
  };

  // Of the next attempt, from its beginning on.
  absl::Duration AttemptLimit(const Terms& terms) const;
  // The longest that the pause after a failure at `now` can be.
  absl::Duration PauseLimit(const Terms& terms, base::BootTime now) const;

  // An attempt has failed that took so long; or a connection was lost, which took no time.
  void Failed(const Terms& terms, base::BootTime now, absl::Duration took, uint64_t random_bits);
  // No attempt before.
  base::BootTime next_attempt() const { return next_attempt_; }

 private:
  int failures_ = 0;
  int late_ = 0;                 // of them ran out of their time
  base::BootTime first_failed_;  // if failures_ > 0
  base::BootTime next_attempt_;
};

}  // namespace zkrecipes::zk::inline seam

#endif  // ZKRECIPES_LIB_ZK_SEAM_CONNECT_PACE_H_

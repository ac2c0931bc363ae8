// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_SLOW_PIPE_H_
#define ZKRECIPES_INTEGRATION_SERVERS_SLOW_PIPE_H_

#include <deque>
#include <string>

#include "absl/time/time.h"

#include "lib/base/boot_time.h"

namespace zkrecipes::servers {

struct Slowness {
  absl::Duration each_way = absl::ZeroDuration();
  int bytes_per_second = 0;  // 0: as fast as it goes
};

// One direction of a connection: what one socket receives is sent on another, later. Sockets that
// do not block. Not thread-safe.
class SlowPipe {
 public:
  SlowPipe(int from, int to, const Slowness& slowness)
      : from_(from), to_(to), slowness_(slowness) {}

  // Takes what is there and delivers what is due. False: the connection broke.
  bool Move(base::BootTime now);

  bool over() const { return ended_ && held_.empty(); }     // all is delivered, also the end
  bool takes() const { return !ended_ && bytes_ < kMost; }  // waits for `from` to have something
  bool full(base::BootTime now) const;                      // waits for `to` to have room
  base::BootTime next() const;                              // when something is due

 private:
  static constexpr size_t kMost = 1 << 20;

  struct Piece {
    base::BootTime due;
    std::string bytes;  // empty: the end
  };

  bool Take(base::BootTime now);
  bool Deliver(base::BootTime now);

  const int from_;
  const int to_;
  const Slowness slowness_;
  base::BootTime free_at_;  // when all that was taken has passed the narrow part
  std::deque<Piece> held_;
  size_t bytes_ = 0;
  bool ended_ = false;
};

}  // namespace zkrecipes::servers

#endif  // ZKRECIPES_INTEGRATION_SERVERS_SLOW_PIPE_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_BACKOFF_H_
#define ZKRECIPES_LIB_ZK_BACKOFF_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace zkrecipes::zk {

// How long to wait before the next attempt to reconnect, instead of the C client's own pause (none
// between servers, then T/60, the same for every client). Each server is tried once almost at once,
// with just enough jitter that a dead server's clients do not all arrive at the next one together;
// after that the wait is drawn from [0, 50), [0, 100), [0, 200), [0, 400), [0, 500) ... milliseconds.
class Backoff {
 public:
  Backoff(size_t servers, uint64_t seed) : servers_(servers), random_(seed) {}

  // The wait before the next attempt.
  absl::Duration Next();
  // Connected: the next loss starts over.
  void Reset() { attempts_ = 0; }

 private:
  size_t servers_;
  uint64_t random_;
  size_t attempts_ = 0;
};

}  // namespace zkrecipes::zk

#endif  // ZKRECIPES_LIB_ZK_BACKOFF_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_BACKOFF_H_
#define ZKRECIPES_LIB_BASE_BACKOFF_H_

#include <cstdint>

#include "absl/time/time.h"

namespace zkrecipes::base {

// The library's one policy for pauses before retries (of connecting: zk::ConnectPace). Each pause is between half a limit and the
// whole limit, so that clients that failed together do not retry together; the limit doubles with
// each try. The caller supplies the randomness (the reactor's), so that a test can repeat it.
class Backoff {
 public:
  struct Options {
    absl::Duration first = absl::Milliseconds(50);     // the limit, which doubles up to
    absl::Duration longest = absl::Milliseconds(500);  // this one
  };

  explicit Backoff(const Options& options) : options_(options) {}

  // The pause before the next attempt.
  absl::Duration Next(uint64_t random_bits);
  // Likewise, of something that had lasted for so long: as long as the pause could be is a success.
  absl::Duration NextAfter(absl::Duration lasted, uint64_t random_bits);
  // The longest that the next pause can be.
  absl::Duration Limit() const { return LimitAfter(tries_); }
  absl::Duration LimitAfter(int tries) const;
  // The attempt succeeded: the next failure starts over.
  void Reset() { tries_ = 0; }

 private:
  Options options_;
  int tries_ = 0;
};

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_BACKOFF_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_BACKOFF_H_
#define ZKRECIPES_LIB_BASE_BACKOFF_H_

#include <cstdint>

#include "absl/time/time.h"

namespace zkrecipes::base {

// How long to wait before another try: the library's one policy. A limit that doubles with each try,
// and a pause between half of it and all of it, so that clients that failed together come back apart.
// The caller brings the randomness (the reactor's), so that a test can repeat it.
class Backoff {
 public:
  struct Options {
    absl::Duration first = absl::Milliseconds(50);     // the limit, which doubles up to
    absl::Duration longest = absl::Milliseconds(500);  // this one
    // So many pauses come before, just long enough that the clients of a dead server do not all
    // arrive at the next one together.
    int quick_tries = 0;
  };

  explicit Backoff(const Options& options) : options_(options) {}

  // The pause before the next try.
  absl::Duration Next(uint64_t random_bits);
  // What the next pause may last at most.
  absl::Duration Limit() const { return LimitAfter(tries_); }
  absl::Duration LimitAfter(int tries) const;
  // It worked: the next failure starts over.
  void Reset() { tries_ = 0; }

 private:
  Options options_;
  int tries_ = 0;
};

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_BACKOFF_H_

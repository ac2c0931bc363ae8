// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_TIMELINE_SPANS_H_
#define ZKRECIPES_VERIFICATION_TIMELINE_SPANS_H_

#include <cstdint>
#include <vector>

#include "verification/checker/chronicle.h"

namespace zkrecipes::history {

// A phase of an attempt, as seen from outside.
struct Span {
  enum class Phase {
    kWaiting,
    kHeld,
    kSuspect,
    kUnproven,
    kLost,
    kReleasing,
    // Its process is dead, or stopped and will find the lease lost; no conflicting grant is to be
    // made before that ends.
    kPromised,
  };
  Phase phase = Phase::kWaiting;
  int64_t from = 0;  // CLOCK_BOOTTIME, nanoseconds
  int64_t to = 0;
};

// By time; at least one, and no two of one phase in succession. `end`: of the run.
std::vector<Span> SpansOf(const Attempt& attempt, const ProcessLife& process, int64_t end);

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_TIMELINE_SPANS_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_TIMELINE_SPANS_H_
#define ZKRECIPES_VERIFICATION_TIMELINE_SPANS_H_

#include <cstdint>
#include <vector>

#include "verification/checker/story.h"

namespace zkrecipes::history {

// What an attempt was at for some time, as one sees it from outside.
struct Span {
  enum class Phase {
    kWaiting,
    kHeld,
    kSuspect,
    kUnproven,
    kLost,
    kReleasing,
    // Its process is dead, or stopped and will find it lost; nobody else is to be granted before
    // that ends.
    kPromised,
  };
  Phase phase = Phase::kWaiting;
  int64_t from = 0;  // CLOCK_BOOTTIME, nanoseconds
  int64_t to = 0;
};

// By time, at least one, no two of one phase one after the other. `end`: of the run.
std::vector<Span> SpansOf(const Attempt& attempt, const Process& process, int64_t end);

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_TIMELINE_SPANS_H_

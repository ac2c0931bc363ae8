// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_FENCING_PASS_H_
#define ZKRECIPES_FENCING_PASS_H_

#include <cstdint>

#include "zkrecipes/fencing_token.h"
#include "zkrecipes/sequencer.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// A holder shows this to a resource with each operation: Lease::pass().
struct FencingPass {
  FencingToken token = {};
  GrantMode mode = GrantMode::kExclusive;
  // How often the ensemble has been set back to an older state, as its operators count (`zkr
  // epoch`): see FencingFloor::epoch. A lease has the epoch that its session read when it began.
  int64_t epoch = 0;
  // Which of the local turns under one token, from 1 on, for a lock that hands its node from thread
  // to thread without a new grant (CachedLock); 0 for every other recipe. Passes of one token are
  // ordered by it.
  int64_t turn = 0;

  friend bool operator==(const FencingPass&, const FencingPass&) = default;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_FENCING_PASS_H_

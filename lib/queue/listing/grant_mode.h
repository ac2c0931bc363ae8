// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_LISTING_GRANT_MODE_H_
#define ZKRECIPES_LIB_QUEUE_LISTING_GRANT_MODE_H_

#include "lib/queue/machine/node_name.h"
#include "zkrecipes/client.h"
#include "zkrecipes/sequencer.h"

namespace zkrecipes::queue::listing {

// A contender's mode as users see it: both kinds of writers are exclusive.
inline GrantMode GrantModeOf(machine::Mode mode) {
  if (mode == machine::Mode::kShared) return GrantMode::kShared;
  return mode == machine::Mode::kLeader ? GrantMode::kLeader : GrantMode::kExclusive;
}

// The mode whose contenders' nodes are named so.
inline machine::Mode ModeNamed(NodeMarker marker) {
  if (marker == NodeMarker::kWriter) return machine::Mode::kSharedWriter;
  return marker == NodeMarker::kLatch ? machine::Mode::kLeader : machine::Mode::kExclusive;
}

}  // namespace zkrecipes::queue::listing

#endif  // ZKRECIPES_LIB_QUEUE_LISTING_GRANT_MODE_H_

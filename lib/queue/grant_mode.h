// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_GRANT_MODE_H_
#define ZKRECIPES_LIB_QUEUE_GRANT_MODE_H_

#include "lib/queue/machine/node_name.h"
#include "zkrecipes/client.h"
#include "zkrecipes/sequencer.h"

namespace zkrecipes::queue {

// A contender's mode as users see it: both kinds of writers are exclusive.
inline GrantMode GrantModeOf(Mode mode) {
  if (mode == Mode::kShared) return GrantMode::kShared;
  return mode == Mode::kLeader ? GrantMode::kLeader : GrantMode::kExclusive;
}

// The mode whose contenders' nodes are named so.
inline Mode ModeNamed(NodeMarker marker) {
  if (marker == NodeMarker::kWriter) return Mode::kSharedWriter;
  return marker == NodeMarker::kLatch ? Mode::kLeader : Mode::kExclusive;
}

}  // namespace zkrecipes::queue

#endif  // ZKRECIPES_LIB_QUEUE_GRANT_MODE_H_

// SPDX-License-Identifier: Apache-2.0
//
// The forms in which a write of a lease's own node is offered: see OwnNodeTurns.

#ifndef ZKRECIPES_LIB_QUEUE_OWN_NODE_OWN_NODE_WRITING_H_
#define ZKRECIPES_LIB_QUEUE_OWN_NODE_OWN_NODE_WRITING_H_

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"

#include "lib/queue/lease/lease_state.h"
#include "lib/queue/own_node/own_node_turns.h"
#include "zkrecipes/wait_options.h"

namespace zkrecipes::queue::own_node {

// A write of this lease's, for its turns().
std::shared_ptr<OwnNodeTurn> NewTurn(const std::shared_ptr<internal::LeaseState>& lease,
                                     const WriteJob& job, OwnNodeTurn::Done done);

// Blocks. REQUIRES of both: `wait` is valid. Of this one: the caller may block.
absl::Status WriteOwnNode(const std::shared_ptr<internal::LeaseState>& lease, const WriteJob& job,
                          const WaitOptions& wait);
// `done` runs once, on any thread, perhaps inline.
void StartWriteOfOwnNode(const std::shared_ptr<internal::LeaseState>& lease, const WriteJob& job,
                         const WaitOptions& wait, absl::AnyInvocable<void(absl::Status) &&> done);

}  // namespace zkrecipes::queue::own_node

#endif  // ZKRECIPES_LIB_QUEUE_OWN_NODE_OWN_NODE_WRITING_H_

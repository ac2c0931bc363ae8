// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_LEASE_VERIFICATION_H_
#define ZKRECIPES_LIB_QUEUE_LEASE_VERIFICATION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"

#include "lib/session/session.h"

namespace zkrecipes::queue::lease {

// Reads a node behind a committed barrier, so the answer is no older than the question, however far
// the server lags; and nothing that this session sent before can happen after it. nullopt: not
// known. `done` runs once, on the reactor.
void ReadBehindBarrier(session::Session& session, const std::string& node,
                       absl::AnyInvocable<void(const std::optional<zk::Reply>&) &&> done);

// Whether a contender's node is still there, as the ensemble's quorum knows it.
enum class Verdict { kThere, kGone, kUnknown };

// Asks behind a committed barrier. kThere only if the node has this czxid and the quorum counted
// the asking session as alive at that moment. `done` runs once, on the reactor.
void VerifyNode(session::Session& session, const std::string& node, int64_t czxid,
                absl::AnyInvocable<void(Verdict) &&> done);

}  // namespace zkrecipes::queue::lease

#endif  // ZKRECIPES_LIB_QUEUE_LEASE_VERIFICATION_H_

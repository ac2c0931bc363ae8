// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_CALL_BARRIER_H_
#define ZKRECIPES_LIB_QUEUE_CALL_BARRIER_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"

#include "lib/session/session.h"

namespace zkrecipes::queue::call {

// A write that only a quorum can have answered.
struct Barrier {
  zk::Code code = zk::Code::kConnectionLoss;
  bool committed() const { return code == zk::Code::kNoNode; }
};

// Sends a barrier. The answers to requests that are sent behind it come from a server that has
// applied it: they are no older than this call, however far the server lags; and nothing that this
// session sent before can happen after it. Ask the result once one of them is answered.
std::shared_ptr<const Barrier> SendBarrier(session::Session& session);

// Reads a node behind a barrier, both in one flight. nullopt: not known. `done` runs once, on the
// reactor.
void ReadBehindBarrier(session::Session& session, const std::string& node,
                       absl::AnyInvocable<void(const std::optional<zk::Reply>&) &&> done);

}  // namespace zkrecipes::queue::call

#endif  // ZKRECIPES_LIB_QUEUE_CALL_BARRIER_H_

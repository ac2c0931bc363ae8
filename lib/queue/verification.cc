// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/verification.h"

#include <memory>
#include <utility>

namespace zkrecipes::queue {

void VerifyNode(session::Session& session, const std::string& node, int64_t czxid,
                absl::AnyInvocable<void(Verdict) &&> done) {
  const auto barrier = std::make_shared<zk::Code>(zk::Code::kConnectionLoss);
  session.Send(session.CommittedBarrier(),
               [barrier](const zk::Reply& reply) { *barrier = reply.code; });
  session.Send(zk::Get{node}, [&session, node, barrier, czxid, id = session.id(),
                               done = std::move(done)](const zk::Reply& reply) mutable {
    const bool refused = *barrier != zk::Code::kNoNode && !zk::OutcomeUnknown(*barrier);
    // A stranger was in the barrier's way, and the next one has another name.
    if (refused && session.connected()) return VerifyNode(session, node, czxid, std::move(done));
    if (*barrier != zk::Code::kNoNode) return std::move(done)(Verdict::kUnknown);
    if (reply.code == zk::Code::kNoNode) return std::move(done)(Verdict::kGone);
    if (reply.code != zk::Code::kOk) return std::move(done)(Verdict::kUnknown);
    const bool own = reply.stat.czxid == czxid && reply.stat.ephemeral_owner == id;
    std::move(done)(own ? Verdict::kThere : Verdict::kGone);
  });
}

}  // namespace zkrecipes::queue

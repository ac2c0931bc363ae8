// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/verification.h"

#include <memory>
#include <utility>

namespace zkrecipes::queue {

void VerifyNode(session::Session& session, const std::string& node, int64_t czxid,
                absl::AnyInvocable<void(Verdict) &&> done) {
  const auto committed = std::make_shared<bool>(false);
  session.Send(session::CommittedBarrier(), [committed](const zk::Reply& reply) {
    *committed = reply.code == zk::Code::kNoNode;
  });
  // Answered after the barrier, by the same server, which had to learn of its commit first.
  session.Send(zk::Get{node}, [committed, czxid, id = session.id(),
                               done = std::move(done)](const zk::Reply& reply) mutable {
    if (!*committed) return std::move(done)(Verdict::kUnknown);
    if (reply.code == zk::Code::kNoNode) return std::move(done)(Verdict::kGone);
    if (reply.code != zk::Code::kOk) return std::move(done)(Verdict::kUnknown);
    const bool own = reply.stat.czxid == czxid && reply.stat.ephemeral_owner == id;
    std::move(done)(own ? Verdict::kThere : Verdict::kGone);
  });
}

}  // namespace zkrecipes::queue

// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/lease/verification.h"

#include <memory>
#include <utility>

namespace zkrecipes::queue::lease {

void ReadBehindBarrier(session::Session& session, const std::string& node,
                       absl::AnyInvocable<void(const std::optional<zk::Reply>&) &&> done) {
  // Two requests in one flight. The read is answered behind the barrier, by a server that has
  // applied it: so the answer is at least as new as the question.
  const auto barrier = std::make_shared<zk::Code>(zk::Code::kConnectionLoss);
  session.Send(session.CommittedBarrier(),
               [barrier](const zk::Reply& reply) { *barrier = reply.code; });
  session.Send(zk::Get{node},
               [&session, node, barrier, done = std::move(done)](const zk::Reply& reply) mutable {
                 const auto no_answer = [](zk::Code code) {
                   return zk::OutcomeUnknown(code) || code == zk::Code::kThrottled;
                 };
                 const bool refused = *barrier != zk::Code::kNoNode && !no_answer(*barrier);
                 // A stranger was in the barrier's way, and the next one has another name.
                 if (refused && session.connected()) {
                   return ReadBehindBarrier(session, node, std::move(done));
                 }
                 const bool known = *barrier == zk::Code::kNoNode && !no_answer(reply.code);
                 std::move(done)(known ? std::optional(reply) : std::nullopt);
               });
}

void VerifyNode(session::Session& session, const std::string& node, int64_t czxid,
                absl::AnyInvocable<void(Verdict) &&> done) {
  ReadBehindBarrier(session, node,
                    [czxid, id = session.id(),
                     done = std::move(done)](const std::optional<zk::Reply>& reply) mutable {
                      if (!reply.has_value()) return std::move(done)(Verdict::kUnknown);
                      if (reply->code == zk::Code::kNoNode) return std::move(done)(Verdict::kGone);
                      if (reply->code != zk::Code::kOk) return std::move(done)(Verdict::kUnknown);
                      // Another node of this name, or of another owner, is not the lease's.
                      const bool own =
                          reply->stat.czxid == czxid && reply->stat.ephemeral_owner == id;
                      std::move(done)(own ? Verdict::kThere : Verdict::kGone);
                    });
}

}  // namespace zkrecipes::queue::lease

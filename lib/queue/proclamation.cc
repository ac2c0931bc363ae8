// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/proclamation.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/queue/leader_node.h"

namespace zkrecipes::queue {
namespace {

absl::Status Deposed(const std::string& node) {
  return absl::AbortedError(absl::StrCat("proclaim: ", node, " is gone: its leader is deposed"));
}

}  // namespace

void Proclamation::Try(session::Session& session, Done done) {
  session.Send(zk::Get{node_}, [self = shared_from_this(), &session,
                                done = std::move(done)](const zk::Reply& reply) mutable {
    self->OnNode(session, reply, std::move(done));
  });
}

void Proclamation::OnNode(session::Session& session, const zk::Reply& reply, Done done) {
  if (reply.code == zk::Code::kNoNode) return std::move(done)(Deposed(node_));
  if (reply.code != zk::Code::kOk) {
    return std::move(done)(zk::ToStatus(reply.code, "proclaim: get", node_));
  }
  const bool own = reply.stat.czxid == czxid_ && reply.stat.ephemeral_owner == session.id();
  if (!own) return std::move(done)(Deposed(node_));
  std::string data = CandidateData(ParseCandidate(reply.data).id, value_);
  // Otherwise it is written even if the node already has this value: a delayed write of an earlier
  // call must find another version.
  const bool written = replaced_.has_value() && reply.stat.version == *replaced_ + 1;
  if (written && reply.data == data) return std::move(done)(absl::OkStatus());
  if (abandoned_) return std::move(done)(absl::CancelledError("proclaim: abandoned"));
  replaced_ = reply.stat.version;
  session.Send(
      zk::SetData{node_, std::move(data), reply.stat.version},
      [self = shared_from_this(), &session, done = std::move(done)](const zk::Reply& set) mutable {
        if (set.code == zk::Code::kOk) return std::move(done)(absl::OkStatus());
        if (set.code == zk::Code::kNoNode) return std::move(done)(Deposed(self->node_));
        // Another write came first: read again.
        if (set.code == zk::Code::kBadVersion) return self->Try(session, std::move(done));
        std::move(done)(zk::ToStatus(set.code, "proclaim: set", self->node_));
      });
}

}  // namespace zkrecipes::queue

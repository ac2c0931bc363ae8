// SPDX-License-Identifier: Apache-2.0
//
// Lock-delay mode: the record of the last exclusive holder, which outlives the holder's session. It
// names the node that was granted the lock last; empty means that the lock was released. A reader
// leaves no name, since nothing waits after it; but after a holder that vanished it waits as every
// contender does, and then clears the record for those behind it.

#include <utility>

#include "lib/queue/machine/contender_transition.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::machine {

using zk::Code;

std::string Contender::Transition::RecordPath() const {
  return zk::JoinPath(c_.candidacy_.parent, kRecordName);
}

// The server has shown that the own node is first. So it has applied the deletion of the previous
// holder's node, and therefore also what that holder wrote before.
void Contender::Transition::ReadRecord() {
  c_.state_ = State::kReading;
  c_.main_op_ = Send(zk::Get{RecordPath()});
}

void Contender::Transition::OnRecord(const zk::Reply& reply) {
  const std::string own(zk::NodeName(c_.node_));
  if (reply.code == Code::kNoNode) {
    if (!LeavesName()) return GrantOnceProven();
    return Mark(zk::Create{RecordPath(), own, zk::CreateMode::kPersistent, c_.candidacy_.acl});
  }
  if (reply.code != Code::kOk) return Refuse(reply.code, "get", RecordPath());
  c_.record_version_ = reply.stat.version;
  // own: that write's answer was lost. A downgrade finds the name of the lease that it follows.
  const bool clean = reply.data.empty() || reply.data == own ||
                     (Follows() && reply.data == c_.candidacy_.follows.node);
  if (clean && !LeavesName()) return GrantOnceProven();
  if (clean || c_.delay_over_) {
    return Mark(zk::SetData{RecordPath(), LeavesName() ? own : "", c_.record_version_});
  }
  c_.state_ = State::kDelaying;
  if (c_.delay_op_ != 0) return;  // the delay has begun; its end comes back here
  c_.delay_op_ = c_.next_op_++;
  Do(action::StartDelayTimer{c_.delay_op_, reply.stat.czxid, reply.stat.version, reply.data});
}

void Contender::Transition::Mark(zk::Request write) {
  c_.state_ = State::kMarking;
  c_.main_op_ = Send(std::move(write));
}

void Contender::Transition::OnMarked(const zk::Reply& reply) {
  const Code code = reply.code;
  if (code == Code::kOk) {
    c_.record_version_ = reply.stat.version;
    c_.marked_ = LeavesName();
    return ListsAfterMark() ? List() : GrantOnceProven();
  }
  const bool another =
      code == Code::kNodeExists || code == Code::kNoNode || code == Code::kBadVersion;
  if (!another) return Refuse(code, "write", RecordPath());
  List();  // another contender wrote it: is the own node still there, and first?
}

// Sent ahead of the delete, so a contender that sees the node gone finds the record clean. The
// answer does not matter: if the write is repeated after a reconnection, the version no longer
// matches.
void Contender::Transition::ClearRecord() {
  (void)Send(zk::SetData{RecordPath(), "", c_.record_version_});
}

}  // namespace zkrecipes::queue::machine

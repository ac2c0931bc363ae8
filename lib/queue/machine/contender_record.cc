// SPDX-License-Identifier: Apache-2.0
//
// Strict: the record of the last holder, which outlives its session. It names the node of whoever
// was granted the lock and has not given it back since; empty: it was given back.

#include <utility>

#include "lib/queue/machine/contender_step.h"
#include "lib/zk/path.h"

namespace zkrecipes::queue {

using zk::Code;

std::string Contender::Step::RecordPath() const {
  return zk::JoinPath(c_.spec_.parent, kRecordName);
}

// The server has shown that the own node is first. So it has applied the end of the one before,
// and what that one wrote.
void Contender::Step::ReadRecord() {
  c_.state_ = State::kReading;
  c_.main_op_ = Send(zk::Get{RecordPath()});
}

void Contender::Step::OnRecord(const zk::Reply& reply) {
  const std::string own = zk::NodeName(c_.node_);
  if (reply.code == Code::kNoNode) {
    return Mark(zk::Create{RecordPath(), own, zk::CreateMode::kPersistent});
  }
  if (reply.code != Code::kOk) return Refuse(reply.code, "get", RecordPath());
  c_.record_version_ = reply.stat.version;
  const bool clean = reply.data.empty() || reply.data == own;  // own: the write's answer was lost
  if (clean || c_.delay_over_) {
    return Mark(zk::SetData{RecordPath(), own, c_.record_version_});
  }
  c_.state_ = State::kDelaying;
  if (c_.delay_op_ != 0) return;  // it has begun
  c_.delay_op_ = c_.next_op_++;
  Do(action::StartDelayTimer{c_.delay_op_});
}

void Contender::Step::Mark(zk::Request write) {
  c_.state_ = State::kMarking;
  c_.main_op_ = Send(std::move(write));
}

void Contender::Step::OnMarked(const zk::Reply& reply) {
  switch (reply.code) {
    case Code::kOk:
      c_.record_version_ = reply.stat.version;
      c_.marked_ = true;
      return GrantOnceProven();
    case Code::kNodeExists:
    case Code::kNoNode:
    case Code::kBadVersion:
      return List();  // somebody else wrote it: is the own node still there, and first?
    default:
      return Refuse(reply.code, "write", RecordPath());
  }
}

// Goes out ahead of the delete, so whoever sees the node gone finds the record clean. Its own answer
// is of no interest: a second one, after a reconnection, finds another version.
void Contender::Step::ClearRecord() {
  (void)Send(zk::SetData{RecordPath(), "", c_.record_version_});
}

}  // namespace zkrecipes::queue

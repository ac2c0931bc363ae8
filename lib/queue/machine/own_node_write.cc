// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/own_node_write.h"

#include <algorithm>

namespace zkrecipes::queue::machine {
namespace {

using Kind = WriteResult::Kind;

// A server whose limit a request exceeds closes the connection, each time that it is sent.
constexpr int kMostLosses = 4;

// Which operation of a multi has failed; that of the own node is the first.
int FailedOperation(const zk::Reply& reply) {
  const auto its_own = [](zk::Code code) {
    return code != zk::Code::kOk && code != zk::Code::kRuntimeInconsistency;
  };
  const auto failed = std::find_if(reply.codes.begin(), reply.codes.end(), its_own);
  if (failed == reply.codes.end()) return WriteResult::kOwnNode;
  return static_cast<int>(failed - reply.codes.begin()) - 1;
}

}  // namespace

zk::Request OwnNodeWrite::Send(const OwnNode& node) {
  state_ = State::kSent;
  sent_version_ = node.version;
  sent_data_ = data_(node.data);
  // First in the multi: it fails, and with it everything, once the node is gone or another has
  // written it.
  const zk::SetData mark{node.path, sent_data_, node.version};
  if (ops_.empty()) return mark;
  zk::Multi multi{{mark}};
  multi.ops.insert(multi.ops.end(), ops_.begin(), ops_.end());
  return multi;
}

void OwnNodeWrite::OnWritten(const zk::Reply& reply, OwnNode& node) {
  if (reply.code == zk::Code::kOk) {
    // What the next write has to name.
    node.version = sent_version_ + 1;
    node.data = sent_data_;
    return End({.kind = Kind::kWritten});
  }
  if (zk::OutcomeUnknown(reply.code)) {
    // It may have been committed: nothing may be sent again before the node has been read.
    unresolved_ = true;
    state_ = State::kLooking;
    return;
  }
  OnRefused(reply);
}

// Nothing of it has happened.
void OwnNodeWrite::OnRefused(const zk::Reply& reply) {
  const int operation = FailedOperation(reply);
  // Perhaps said by the client library, which does not know what the server has done.
  if (reply.code == zk::Code::kSessionExpired) {
    return End({.kind = Kind::kSessionEnded, .may_be_written = true});
  }
  if (operation == WriteResult::kOwnNode) {
    if (reply.code == zk::Code::kNoNode) return End({.kind = Kind::kNodeGone});
    if (reply.code == zk::Code::kBadVersion) {
      state_ = State::kLooking;
      return;
    }
  }
  End({.kind = Kind::kRefused, .code = reply.code, .operation = operation});
}

void OwnNodeWrite::OnRead(const zk::Reply& reply, OwnNode& node) {
  const bool read = reply.code == zk::Code::kOk;
  // Another node at this path is a stranger's: no node is ever created twice by us.
  const bool own =
      read && reply.stat.czxid == node.czxid && reply.stat.ephemeral_owner == node.session;
  if (reply.code == zk::Code::kSessionExpired) {
    return End({.kind = Kind::kSessionEnded, .may_be_written = unresolved_});
  }
  if (reply.code == zk::Code::kNoNode || (read && !own)) {
    return End({.kind = Kind::kNodeGone, .may_be_written = unresolved_});
  }
  if (!read) {
    const Kind kind = unresolved_ ? Kind::kUnclear : Kind::kRefused;
    return End({.kind = kind, .may_be_written = unresolved_, .code = reply.code});
  }
  node.version = reply.stat.version;
  node.data = reply.data;
  if (unresolved_) return Resolve(node);
  state_ = State::kReady;
}

// Each write moves the version by one, and a write of ours only ever replaces the version that it
// names.
void OwnNodeWrite::Resolve(const OwnNode& node) {
  const bool next = node.version == sent_version_ + 1;
  if (next && node.data == sent_data_) return End({.kind = Kind::kWritten});
  const bool hidden = node.version > sent_version_ + 1;
  // Without operations it only has to be there in the end: it is written once more.
  if (hidden && !ops_.empty()) {
    return End({.kind = Kind::kUnclear, .may_be_written = true, .code = zk::Code::kBadVersion});
  }
  if (++losses_ >= kMostLosses) return End({.kind = Kind::kLostAgain});
  // The version of before: it was not committed, and behind the barrier it never will be.
  unresolved_ = false;
  state_ = State::kReady;
}

void OwnNodeWrite::End(WriteResult result) {
  unresolved_ = false;
  state_ = State::kDone;
  result_ = result;
}

}  // namespace zkrecipes::queue::machine

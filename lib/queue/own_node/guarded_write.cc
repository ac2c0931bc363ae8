// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/guarded_write.h"

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/queue/call/call.h"
#include "lib/queue/lease/lease_state.h"
#include "lib/queue/own_node/own_node_turns.h"
#include "lib/session/client/client_options.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes {
namespace {

using internal::LeaseMaker;
using internal::LeaseState;
using queue::call::Start;
using StatusDone = queue::call::Done<absl::Status>;

// A server closes the connection of a client whose request is longer than its jute.maxbuffer,
// 1,048,575 bytes unless it is set.
constexpr size_t kMostBytes = 1'000'000;
constexpr size_t kBytesOfAnOp = 64;  // what comes to path, data and ACL
// Of the lease's own node, with its path: a leader's id and value (leader.h), or who holds it.
constexpr size_t kMostBytesOfALeader = 70'000;
constexpr size_t kMostBytesOfAnOwner = 3'000;

absl::Status Invalid(size_t index, const WriteOp& op, const char* rule) {
  return absl::InvalidArgumentError(
      absl::StrCat("guarded write: operation ", index, ", ", op.path, ": ", rule));
}

absl::Status CheckOp(LeaseState& lease, size_t index, const WriteOp& op) {
  const std::string what = absl::StrCat("path of operation ", index);
  if (absl::Status path = zk::ValidatePath(what, op.path); !path.ok()) return path;
  if (op.path == lease.sequencer().node) {
    // The first operation of the transaction sets it, under its version: a second one would clash.
    return Invalid(index, op, "is the lease's own node, which must stay as it is");
  }
  if (op.version < WriteOp::kAnyVersion) {
    return Invalid(index, op, "the version must not be negative, or be kAnyVersion");
  }
  if (op.kind == WriteOp::Kind::kCreate && op.version != WriteOp::kAnyVersion) {
    return Invalid(index, op, "a new node has no version");
  }
  if (op.kind == WriteOp::Kind::kDelete && !op.data.empty()) {
    return Invalid(index, op, "a delete has no data");
  }
  return absl::OkStatus();
}

// Checked before anything is sent: a request that is too long costs the connection, and with it
// perhaps the client's other leases. Counted from above, since the own node's data may still
// change.
absl::Status CheckSize(LeaseState& lease, const std::vector<WriteOp>& ops) {
  size_t acl = 0;
  for (const zk::AclEntry& entry : session::client::EntriesOf(lease.core().options().acl)) {
    acl += entry.scheme.size() + entry.id.size() + 3 * sizeof(int32_t);
  }
  const size_t prefix = lease.core().name_space().root().size();
  const bool leader = lease.sequencer().mode == GrantMode::kLeader;
  size_t bytes = (leader ? kMostBytesOfALeader : kMostBytesOfAnOwner) + kBytesOfAnOp;
  for (const WriteOp& op : ops) {
    bytes += prefix + op.path.size() + op.data.size() + acl + kBytesOfAnOp;
  }
  if (bytes <= kMostBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("guarded write: ", ops.size(), " operations of ",
                                                 bytes, " bytes: must be at most ", kMostBytes));
}

absl::Status CheckOps(LeaseState& lease, const std::vector<WriteOp>& ops) {
  if (ops.empty()) return absl::InvalidArgumentError("guarded write: there is no operation");
  for (size_t i = 0; i < ops.size(); ++i) {
    if (absl::Status wrong = CheckOp(lease, i, ops[i]); !wrong.ok()) return wrong;
  }
  return CheckSize(lease, ops);
}

zk::Multi::Op ToServer(const zk::Namespace& name_space, WriteOp op) {
  std::string path = name_space.ToServer(op.path);
  switch (op.kind) {
    case WriteOp::Kind::kCreate:
      return zk::Create{std::move(path), std::move(op.data), zk::CreateMode::kPersistent};
    case WriteOp::Kind::kDelete:
      return zk::Delete{std::move(path), op.version};
    case WriteOp::Kind::kSet:
      break;
  }
  return zk::SetData{std::move(path), std::move(op.data), op.version};
}

queue::own_node::WriteJob JobOf(LeaseState& lease, std::vector<WriteOp> ops) {
  queue::own_node::WriteJob job{absl::StrCat("guarded write by ", lease.sequencer().node),
                                lease.NewMark()};
  for (WriteOp& op : ops) {
    job.ops.push_back(ToServer(lease.core().name_space(), std::move(op)));
  }
  return job;
}

Start<absl::Status> Writing(const Lease& lease, std::vector<WriteOp> ops) {
  const std::shared_ptr<LeaseState>& state = LeaseMaker::StateOf(lease);
  if (state == nullptr) {
    return {.refusal = absl::FailedPreconditionError("guarded write: a moved-from lease")};
  }
  return {state->core().shared_from_this(),
          // The lease may be destroyed meanwhile: its state is kept, and a released lease writes
          // nothing.
          [state, ops = std::move(ops)](const WaitOptions& wait,
                                        StatusDone& done) mutable -> queue::call::Begun {
            if (absl::Status wrong = CheckOps(*state, ops); !wrong.ok()) return wrong;
            absl::Status over = state->CheckAlive("guarded write by");
            if (!over.ok()) return over;
            return queue::own_node::Write(state, JobOf(*state, std::move(ops)), wait,
                                          std::move(done));
          }};
}

}  // namespace

absl::Status GuardedWrite(const Lease& lease, std::vector<WriteOp> ops, const WaitOptions& wait) {
  return Blocking(Writing(lease, std::move(ops)), wait);
}

void GuardedWriteAsync(const Lease& lease, std::vector<WriteOp> ops, WaitOptions wait,
                       StatusDone done) {
  Async(Writing(lease, std::move(ops)), wait, std::move(done));
}

StatusAwaitable CoGuardedWrite(const Lease& lease, std::vector<WriteOp> ops, Duration timeout,
                               std::stop_token cancel) {
  return Co(Writing(lease, std::move(ops)), timeout, std::move(cancel));
}

}  // namespace zkrecipes

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_GUARDED_WRITE_H_
#define ZKRECIPES_GUARDED_WRITE_H_

#include <cstdint>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

#include "zkrecipes/awaitable.h"
#include "zkrecipes/duration.h"
#include "zkrecipes/lease.h"
#include "zkrecipes/wait_options.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// One change of the tree. Paths lie within the client's namespace, and follow the rules of a
// recipe's path.
struct WriteOp {
  enum class Kind { kCreate, kSet, kDelete };
  static constexpr int32_t kAnyVersion = -1;

  Kind kind = Kind::kSet;
  std::string path = {};
  std::string data = {};          // not for kDelete
  int32_t version = kAnyVersion;  // not for kCreate: the node must have this version

  // A persistent node, with the client's ACL. Its parent must exist.
  static WriteOp Create(std::string path, std::string data) {
    return {Kind::kCreate, std::move(path), std::move(data), kAnyVersion};
  }
  static WriteOp Set(std::string path, std::string data, int32_t version = kAnyVersion) {
    return {Kind::kSet, std::move(path), std::move(data), version};
  }
  // The node must have no children.
  static WriteOp Delete(std::string path, int32_t version = kAnyVersion) {
    return {Kind::kDelete, std::move(path), "", version};
  }
};

// Commits all of `ops`, in order, or none, as one transaction that fails if the lease's node is
// gone. So no operation takes effect once another contender has been granted the lock, however late
// the transaction arrives. This rests on ZooKeeper alone, and on no assumption about clocks: data
// in ZooKeeper needs no fencing token. (A reader's lease guards against writers, not against other
// readers. During an upgrade the former lease stays until the new one is granted, and may write
// until then.)
//
// If the answer is lost with its connection, the lease's node shows whether the transaction was
// committed; if it was not, it is sent again while the lease is believed. So OK means committed
// once, and a failure means that nothing was committed. Where this is not known, as after a call
// that gave up early, the message says so, and MayBeWritten(status) is true.
//
// A transaction of many operations takes time, in which the servers answer nothing that proves the
// session: 8,500 creates, the most that fit, took three servers 0.3 to 0.8 s on a busy machine with
// two cores. It is committed or not all the same, but the lease may be over when it returns. So
// keep it far below the session timeout, or write in several.
//
// To be recognised, each transaction also sets a mark in the data of the lease's node. The data
// stays readable for all (docs/adr/0034 lists nodes that cannot be marked). Writes of one lease,
// and a leader's proclamations, take turns.
//
// One request; blocks for the answer, and over reconnections.
//   Aborted             the lease is lost or released
//   AlreadyExists       the node of a create exists; the message names the operation
//   NotFound            an operation's node, or the parent of a create, does not exist; likewise
//   FailedPrecondition  an operation's node has another version or children, or its parent is an
//                       ephemeral node; or the lease is moved from, the client is closed or belongs
//                       to the parent process, or this is its I/O thread
//   PermissionDenied    an ACL refuses an operation, or the write of the lease's own node
//   ResourceExhausted   a quota, or the server throttled the request
//   InvalidArgument     the timeout; no operation, a bad path, the lease's own node, a negative
//                       version; or more than a million bytes, paths included, which servers refuse
//   Unavailable         the connection was lost four times before an answer came, or there is none
//                       in time; or another client has written over the mark in the lease's node
//   DeadlineExceeded, Cancelled   not known in time
//   Unauthenticated     the server refused the client's credentials
//   Internal            the server does not know such transactions
absl::Status GuardedWrite(const Lease& lease, std::vector<WriteOp> ops,
                          const WaitOptions& wait = {});
// Does not block. `done` runs once, on the client's executor; inline for a moved-from Lease and in
// a forked child. ResourceExhausted, inline as well: there is no thread to run it, and nothing was
// written. The lease may be moved or destroyed meanwhile.
void GuardedWriteAsync(const Lease& lease, std::vector<WriteOp> ops, WaitOptions wait,
                       absl::AnyInvocable<void(absl::Status) &&> done);
// For co_await: see awaitable.h. (Construct `ops` before: g++ 12 allows no braces inside a
// co_await.)
StatusAwaitable CoGuardedWrite(const Lease& lease, std::vector<WriteOp> ops,
                               Duration timeout = absl::InfiniteDuration(),
                               std::stop_token cancel = {});

// Whether a GuardedWrite that returned this status, other than OK, may have been committed, or may
// yet be.
bool MayBeWritten(const absl::Status& status);

}  // namespace zkrecipes

#endif  // ZKRECIPES_GUARDED_WRITE_H_

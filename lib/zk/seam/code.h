// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_SEAM_CODE_H_
#define ZKRECIPES_LIB_ZK_SEAM_CODE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace zkrecipes::zk::inline seam {

// ZooKeeper's result codes, with ZooKeeper's own numbers.
enum class Code : int {
  kOk = 0,
  kSystemError = -1,
  kRuntimeInconsistency = -2,
  kDataInconsistency = -3,
  kConnectionLoss = -4,
  kMarshallingError = -5,
  kUnimplemented = -6,
  kOperationTimeout = -7,
  kBadArguments = -8,
  kInvalidState = -9,
  kNoNode = -101,
  kNoAuth = -102,
  kBadVersion = -103,
  kNoChildrenForEphemerals = -108,
  kNodeExists = -110,
  kNotEmpty = -111,
  kSessionExpired = -112,
  kInvalidAcl = -114,
  kAuthFailed = -115,
  kClosing = -116,
  kSessionMoved = -118,
  kNoWatcher = -121,
  kCredentialsRequired = -124,
  kQuotaExceeded = -125,
  kThrottled = -127,

  // Our own: a handle is connected to ClickHouse Keeper (docs/servers.md), or to a server that is
  // like it.
  kKeeper = -1000,
  // Ours as well: the answer was longer than any that is read, and was skipped.
  kReplyTooLong = -1001,
  // And: every server that there is serves others, and not this session.
  kSessionRefused = -1002,
};

// "ZCONNECTIONLOSS" and so on; the number for codes that are not listed above.
std::string CodeName(Code code);

// True if it is unknown whether the request was executed, or may yet be: neither a success nor a
// failure. (Not for an expired session: whatever was created in it is gone or going.)
bool OutcomeUnknown(Code code);

// The status a user sees: "<operation> <path>: <meaning> (ZNOAUTH)". REQUIRES: code is not kOk.
//   Unavailable         connection lost, session moved or closing, timed out: outcome unknown
//   PermissionDenied    the ACL refuses it           Unauthenticated     credentials refused, or
//                                                                        required
//   NotFound            no such node                 AlreadyExists       node exists
//   FailedPrecondition  ephemeral parent, not empty, wrong version; the server is ClickHouse Keeper
//   ResourceExhausted   quota, throttled, too long   InvalidArgument     arguments or ACL refused
//   Aborted             session expired              Internal            everything else
absl::Status ToStatus(Code code, absl::string_view operation, absl::string_view path);

}  // namespace zkrecipes::zk::inline seam

#endif  // ZKRECIPES_LIB_ZK_SEAM_CODE_H_

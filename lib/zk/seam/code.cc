// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/seam/code.h"

#include "absl/strings/str_cat.h"

#include "lib/zk/seam/path.h"

namespace zkrecipes::zk::inline seam {
namespace {

struct Entry {
  Code code;
  const char* name;
  absl::StatusCode status;
  const char* meaning;
};

constexpr absl::StatusCode kUnavailable = absl::StatusCode::kUnavailable;
constexpr absl::StatusCode kInternal = absl::StatusCode::kInternal;
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr absl::StatusCode kExhausted = absl::StatusCode::kResourceExhausted;

constexpr Entry kEntries[] = {
    {Code::kOk, "ZOK", absl::StatusCode::kOk, "ok"},
    {Code::kSystemError, "ZSYSTEMERROR", kUnavailable, "system error, outcome unknown"},
    {Code::kRuntimeInconsistency, "ZRUNTIMEINCONSISTENCY", kUnavailable,
     "reply lost, outcome unknown"},
    {Code::kDataInconsistency, "ZDATAINCONSISTENCY", kInternal, "data inconsistency"},
    {Code::kConnectionLoss, "ZCONNECTIONLOSS", kUnavailable, "connection lost, outcome unknown"},
    {Code::kMarshallingError, "ZMARSHALLINGERROR", kInternal, "request could not be encoded"},
    {Code::kUnimplemented, "ZUNIMPLEMENTED", kInternal, "the server does not know this operation"},
    {Code::kOperationTimeout, "ZOPERATIONTIMEOUT", kUnavailable, "no answer, outcome unknown"},
    {Code::kBadArguments, "ZBADARGUMENTS", kInvalid, "arguments refused"},
    {Code::kInvalidState, "ZINVALIDSTATE", kInternal, "handle in the wrong state"},
    {Code::kNoNode, "ZNONODE", absl::StatusCode::kNotFound, "no such node"},
    {Code::kNoAuth, "ZNOAUTH", absl::StatusCode::kPermissionDenied, "refused by the node's ACL"},
    {Code::kBadVersion, "ZBADVERSION", kPrecondition, "node has another version"},
    {Code::kNoChildrenForEphemerals, "ZNOCHILDRENFOREPHEMERALS", kPrecondition,
     "the parent is an ephemeral node, which cannot have children"},
    {Code::kNodeExists, "ZNODEEXISTS", absl::StatusCode::kAlreadyExists, "node exists already"},
    {Code::kNotEmpty, "ZNOTEMPTY", kPrecondition, "node has children"},
    {Code::kSessionExpired, "ZSESSIONEXPIRED", absl::StatusCode::kAborted, "session expired"},
    {Code::kInvalidAcl, "ZINVALIDACL", kInvalid, "ACL refused"},
    {Code::kAuthFailed, "ZAUTHFAILED", absl::StatusCode::kUnauthenticated, "credentials refused"},
    {Code::kClosing, "ZCLOSING", kUnavailable, "session is closing, outcome unknown"},
    {Code::kSessionMoved, "ZSESSIONMOVED", kUnavailable,
     "session moved to another server, outcome unknown"},
    {Code::kNoWatcher, "ZNOWATCHER", absl::StatusCode::kNotFound, "no such watch"},
    {Code::kCredentialsRequired, "ZSESSIONCLOSEDREQUIRESASLAUTH",
     absl::StatusCode::kUnauthenticated,
     "the servers serve only clients that have authenticated (enforce.auth.enabled or "
     "sessionRequireClientSASLAuth): give digest_credentials if enforce.auth.schemes has digest; "
     "this library has no SASL"},
    {Code::kQuotaExceeded, "ZQUOTAEXCEEDED", kExhausted, "quota exceeded"},
    {Code::kThrottled, "ZTHROTTLEDOP", kExhausted, "server throttled the request"},
    {Code::kKeeper, "CLICKHOUSE_KEEPER", kPrecondition,
     "the server is ClickHouse Keeper, which may end a session before its timeout, and takes none "
     "up "
     "again: no lease can be proven there, so there are none (docs/servers.md)"},
    {Code::kSessionRefused, "SESSION_REFUSED", absl::StatusCode::kAborted,
     "the session was given up: most servers refused it for its timeout, since they have lost what "
     "it had seen, or are of another ensemble; raise the epoch (docs/fencing.md)"},
    {Code::kReplyTooLong, "REPLY_TOO_LONG", kExhausted,
     "the answer is longer than the 64 MiB that a client reads: too many children, or names that "
     "are too long"},
};

const Entry* Find(Code code) {
  for (const Entry& entry : kEntries) {
    if (entry.code == code) return &entry;
  }
  return nullptr;
}

}  // namespace

std::string CodeName(Code code) {
  const Entry* entry = Find(code);
  return entry != nullptr ? entry->name : absl::StrCat(static_cast<int>(code));
}

bool OutcomeUnknown(Code code) {
  switch (code) {
    // Each of these may come after the leader has logged the request: a retry without a check could
    // do it twice.
    case Code::kSystemError:
    case Code::kRuntimeInconsistency:
    case Code::kConnectionLoss:
    case Code::kOperationTimeout:
    case Code::kClosing:
    case Code::kSessionMoved:
      return true;
    default:
      return false;
  }
}

absl::Status ToStatus(Code code, absl::string_view operation, absl::string_view path) {
  const Entry* entry = Find(code);
  const absl::StatusCode status = entry != nullptr ? entry->status : kInternal;
  // A server of another release may send a code that is not listed: it must not look like a
  // success. And the path may be one that a stranger has named.
  const char* meaning = entry != nullptr ? entry->meaning : "unexpected answer";
  return absl::Status(status, absl::StrCat(operation, " ", Printable(path), ": ", meaning, " (",
                                           CodeName(code), ")"));
}

}  // namespace zkrecipes::zk::inline seam

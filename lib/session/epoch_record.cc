// SPDX-License-Identifier: Apache-2.0

#include "lib/session/epoch_record.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "lib/zk/seam/path.h"

namespace zkrecipes::session {
namespace {

constexpr int32_t kMayRead = 1;  // ZooKeeper's permission bit

constexpr char kRemedy[] =
    "; an operator can make it anew: zkr epoch --make --above N (docs/security.md, \"The epoch\")";

absl::Status NotBelieved(const std::string& path, const std::string& why) {
  return absl::FailedPreconditionError(absl::StrCat("the epoch's record ", kEpochPath,
                                                    " is not believed: ", path, " ", why, kRemedy));
}

// OK only if nobody but `writers` has ever been able to change the node, its ACL or its children.
// What the ACL says now proves this only if it was never set after the node was made: a stranger
// may write first, and close the node behind itself.
absl::Status CheckClosed(const std::string& path, const zk::Reply& acl,
                         const std::vector<std::string>& writers) {
  if (acl.code == zk::Code::kNoNode) return NotBelieved(path, "does not exist");
  if (acl.code != zk::Code::kOk) return zk::ToStatus(acl.code, "get the ACL of", path);
  if (acl.acl.empty()) return NotBelieved(path, "shows no ACL");
  for (const zk::AclEntry& entry : acl.acl) {
    const std::string user = absl::StrCat(entry.scheme, ":", entry.id);
    if ((entry.permissions & ~kMayRead) == 0 || std::ranges::count(writers, user) > 0) continue;
    // Anyone can give a user of that name another password.
    const bool hidden = entry.scheme == "digest" && absl::EndsWith(entry.id, ":x");
    return NotBelieved(
        path, absl::StrCat("may be changed by ", zk::Quoted(user),
                           hidden ? ", whose hash is shown only to clients that may administer the "
                                    "node, as this client may not"
                                  : ", which is none of EpochOptions::writers"));
  }
  if (acl.stat.aversion == 0) return absl::OkStatus();
  return NotBelieved(path, "had another ACL before, under which others may have written");
}

}  // namespace

absl::StatusOr<int64_t> EpochIn(const zk::Reply& reply) {
  // Nobody has raised it yet: every client agrees on 0, so tokens compare as they are.
  if (reply.code == zk::Code::kNoNode) return 0;
  if (reply.code == zk::Code::kNoAuth) {
    const absl::Status denied = zk::ToStatus(reply.code, "get the epoch's record", kEpochPath);
    return absl::Status(denied.code(), absl::StrCat(denied.message(), kRemedy));
  }
  if (reply.code != zk::Code::kOk) {
    return zk::ToStatus(reply.code, "get the epoch's record", kEpochPath);
  }
  int64_t epoch = -1;
  // As it is written by `zkr epoch`: no sign, no space, no zero in front.
  const bool number = absl::SimpleAtoi(reply.data, &epoch) && epoch >= 0;
  if (number && std::to_string(epoch) == reply.data) {
    if (epoch <= MostEpochOf(reply.stat.version)) return epoch;
    return NotBelieved(kEpochPath, absl::StrCat("holds ", epoch, ", and at version ",
                                                reply.stat.version, " of its data an epoch is ",
                                                MostEpochOf(reply.stat.version), " at most"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the epoch's record ", kEpochPath, " holds ", zk::Quoted(reply.data),
                   ": not a decimal number of at most 63 bits", kRemedy));
}

bool LostWithConnection(const EpochAnswers& answers) {
  const zk::Code last = answers.record.code;
  if (last == zk::Code::kSystemError) return false;
  return zk::OutcomeUnknown(last) || last == zk::Code::kSessionExpired;
}

absl::StatusOr<int64_t> BelievedEpoch(const EpochAnswers& answers,
                                      const std::vector<std::string>& writers) {
  if (!writers.empty()) {
    absl::Status closed = CheckClosed(kEpochParent, answers.parent_acl, writers);
    if (closed.ok()) closed = CheckClosed(kEpochPath, answers.record_acl, writers);
    if (!closed.ok()) return closed;
    // It went after its ACL was read. A writer is at work.
    if (answers.record.code == zk::Code::kNoNode) {
      return NotBelieved(kEpochPath, "does not exist");
    }
  }
  return EpochIn(answers.record);
}

}  // namespace zkrecipes::session

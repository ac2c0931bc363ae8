// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/own_node/write_status.h"

#include <cstddef>
#include <variant>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace zkrecipes::queue::own_node {
namespace {

// A payload, so that a user can ask for it (MayBeWritten) whatever the status says.
constexpr char kUncertain[] = "zkrecipes/may-be-written";

const char* NameOf(const zk::Multi::Op& op) {
  if (std::holds_alternative<zk::Create>(op)) return "create";
  return std::holds_alternative<zk::Delete>(op) ? "delete" : "set";
}

// The transaction is all or nothing, so one operation's refusal means that nothing was written.
absl::Status Refused(const zk::Namespace& name_space, const std::string& what,
                     const std::vector<zk::Multi::Op>& ops, const std::string& node,
                     const machine::WriteResult& result) {
  if (result.operation == machine::WriteResult::kOwnNode) {
    return zk::ToStatus(result.code, what + ": the lease's own node", name_space.ToUser(node));
  }
  const zk::Multi::Op& op = ops[static_cast<size_t>(result.operation)];
  return zk::ToStatus(result.code,
                      absl::StrCat(what, ": operation ", result.operation, ", ", NameOf(op)),
                      name_space.ToUser(zk::PathOf(op)));
}

}  // namespace

absl::Status DescribeWrite(const zk::Namespace& name_space, const std::string& what,
                           const std::vector<zk::Multi::Op>& ops, const std::string& node,
                           const machine::WriteResult& result) {
  using Kind = machine::WriteResult::Kind;
  absl::Status status;
  switch (result.kind) {
    case Kind::kWritten:
      return absl::OkStatus();
    case Kind::kRefused:
      return Refused(name_space, what, ops, node, result);
    case Kind::kNodeGone:
      status = absl::AbortedError(
          absl::StrCat(what, ": the lease is lost: its node ", name_space.ToUser(node), " is gone",
                       result.may_be_written ? "" : "; nothing was written"));
      break;
    // Each try was found not to have happened before the next was sent.
    case Kind::kLostAgain:
      return absl::UnavailableError(
          absl::StrCat(what,
                       ": each time that it was sent the connection was lost before the answer "
                       "came; nothing was written"));
    // A stranger has overwritten the mark, or the node cannot be read: both outcomes are possible.
    case Kind::kUnclear:
      status = absl::UnavailableError(absl::StrCat(
          what, ": the answer was lost, and the node ", name_space.ToUser(node),
          " does not tell any more what became of it (", zk::CodeName(result.code), ")"));
      break;
  }
  return result.may_be_written ? WithUncertainty(status) : status;
}

// The caller must not repeat such a write as if nothing had happened.
absl::Status WithUncertainty(const absl::Status& status) {
  absl::Status uncertain(
      status.code(),
      absl::StrCat(status.message(), "; it is not known whether anything was written"));
  uncertain.SetPayload(kUncertain, absl::Cord("1"));
  return uncertain;
}

bool IsUncertain(const absl::Status& status) { return status.GetPayload(kUncertain).has_value(); }

}  // namespace zkrecipes::queue::own_node

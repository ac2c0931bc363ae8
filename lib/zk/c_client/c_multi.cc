// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/c_client/c_multi.h"

#include <string>
#include <variant>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace zkrecipes::zk::c_client {
namespace {

// What the C client sends as the path of a node other than the root.
bool IsPath(const std::string& path) {
  if (path.size() < 2 || path[0] != '/') return false;
  for (const absl::string_view part : absl::StrSplit(path.substr(1), '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  for (const char c : path) {
    if (c >= '\0' && c < '\x1f') return false;
  }
  return true;
}

}  // namespace

struct CMulti::Add {
  CMulti& multi;
  const CAcl& acl;
  zoo_op_t& op;

  // No buffer for the answer's path: it is that of the request, and the C client writes past its end.
  bool operator()(const Create& r) {
    if (r.mode != CreateMode::kPersistent && r.mode != CreateMode::kEphemeral) return false;
    const CAcl& own = r.acl.empty() ? acl : multi.acls_.emplace_back(r.acl);
    zoo_create_op_init(&op, r.path.c_str(), r.data.data(), static_cast<int>(r.data.size()),
                       own.get(), ToCMode(r.mode), /*path_buffer=*/nullptr, 0);
    return true;
  }
  bool operator()(const Delete& r) {
    zoo_delete_op_init(&op, r.path.c_str(), r.version);
    return true;
  }
  bool operator()(const SetData& r) {
    zoo_set_op_init(&op, r.path.c_str(), r.data.data(), static_cast<int>(r.data.size()), r.version,
                    /*stat=*/nullptr);
    return true;
  }
};

CMulti::CMulti(const Multi& multi, const CAcl& acl) : ops_(multi.ops.size()) {
  valid_ = !ops_.empty();
  for (size_t i = 0; i < ops_.size() && valid_; ++i) {
    valid_ = IsPath(PathOf(multi.ops[i])) && std::visit(Add{*this, acl, ops_[i]}, multi.ops[i]);
  }
}

}  // namespace zkrecipes::zk::c_client

// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/c_client/c_codec.h"

#include <utility>
#include <variant>

#include "absl/strings/str_replace.h"
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
    // As the C client's own check; and a NUL would end the path there.
    if (c >= '\0' && c < '\x1f') return false;
  }
  return true;
}

}  // namespace

std::string ToHost(const std::string& server) {
  return absl::StrReplaceAll(server, {{"[", ""}, {"]", ""}});
}

Stat FromC(const ::Stat& stat) {
  Stat result;
  result.czxid = stat.czxid;
  result.ephemeral_owner = stat.ephemeralOwner;
  result.ctime_ms = stat.ctime;
  result.version = stat.version;
  result.cversion = stat.cversion;
  result.aversion = stat.aversion;
  result.num_children = stat.numChildren;
  return result;
}

std::vector<AclEntry> FromC(const ACL_vector& acl) {
  std::vector<AclEntry> entries;
  for (int32_t i = 0; i < acl.count; ++i) {
    entries.push_back({acl.data[i].perms, acl.data[i].id.scheme, acl.data[i].id.id});
  }
  return entries;
}

CAcl::CAcl(std::vector<AclEntry> entries) : entries_(std::move(entries)) {
  // As ZOO_OPEN_ACL_UNSAFE, but with strings of our own: the C client's type is char*, which may be
  // written to.
  if (entries_.empty()) entries_.push_back({ZOO_PERM_ALL, "world", "anyone"});
  for (AclEntry& entry : entries_) {
    acls_.push_back({entry.permissions, {entry.scheme.data(), entry.id.data()}});
  }
  vector_ = {static_cast<int32_t>(acls_.size()), acls_.data()};
}

struct CMulti::Add {
  CMulti& multi;
  const CAcl& acl;
  zoo_op_t& op;

  // No buffer for the answer's path: it is that of the request, and the C client writes past its
  // end.
  bool operator()(const Create& r) {
    // The C client understands neither create2 nor a server's answer about a container.
    if (r.mode != CreateMode::kPersistent && r.mode != CreateMode::kEphemeral) return false;
    const CAcl& own = r.acl.empty() ? acl : multi.acls_.emplace_back(r.acl);
    zoo_create_op_init(&op, r.path.c_str(), r.data.data(), static_cast<int>(r.data.size()),
                       own.get(), static_cast<int>(r.mode), /*path_buffer=*/nullptr, 0);
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
  // Up to the first wrong one: then nothing of it is sent.
  for (size_t i = 0; i < ops_.size() && valid_; ++i) {
    valid_ = IsPath(PathOf(multi.ops[i])) && std::visit(Add{*this, acl, ops_[i]}, multi.ops[i]);
  }
}

}  // namespace zkrecipes::zk::c_client

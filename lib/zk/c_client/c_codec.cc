// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/c_client/c_codec.h"

#include <utility>

#include "absl/strings/str_replace.h"

namespace zkrecipes::zk::c_client {

std::string ToHost(const std::string& server) {
  return absl::StrReplaceAll(server, {{"[", ""}, {"]", ""}});
}

int ToCMode(CreateMode mode) {
  switch (mode) {
    case CreateMode::kPersistent:
      return ZOO_PERSISTENT;
    case CreateMode::kContainer:
      return ZOO_CONTAINER;
    case CreateMode::kEphemeral:
      return ZOO_EPHEMERAL;
    case CreateMode::kEphemeralSequential:
      return ZOO_EPHEMERAL_SEQUENTIAL;
  }
  return ZOO_PERSISTENT;
}

Stat FromC(const ::Stat& stat) {
  Stat result;
  result.czxid = stat.czxid;
  result.ephemeral_owner = stat.ephemeralOwner;
  result.ctime_ms = stat.ctime;
  result.version = stat.version;
  result.cversion = stat.cversion;
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
  if (entries_.empty()) entries_.push_back({ZOO_PERM_ALL, "world", "anyone"});
  for (AclEntry& entry : entries_) {
    acls_.push_back({entry.permissions, {entry.scheme.data(), entry.id.data()}});
  }
  vector_ = {static_cast<int32_t>(acls_.size()), acls_.data()};
}

}  // namespace zkrecipes::zk::c_client

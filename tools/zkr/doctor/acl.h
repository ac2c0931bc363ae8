// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_ACL_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_ACL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lib/zk/seam/types.h"

namespace zkrecipes::zkr::doctor {

using Acl = std::vector<zk::AclEntry>;

// ZooKeeper's permission bits.
constexpr std::int32_t kMayRead = 1;
constexpr std::int32_t kMayWrite = 2;
constexpr std::int32_t kMayCreate = 4;
constexpr std::int32_t kMayDelete = 8;
// What a contender does on the path's node.
constexpr std::int32_t kContenderNeeds = kMayRead | kMayCreate | kMayDelete;

// Of every client, and of one with credentials of these users for the digest scheme. Pure.
std::int32_t GrantedToAll(const Acl& acl);
std::int32_t GrantedTo(const std::vector<std::string>& users, const Acl& acl);
// Permissions of other schemes (ip, sasl, x509): whether they are this client's is not known.
std::int32_t PerhapsGranted(const Acl& acl);

// "create and delete"; REQUIRES: there is one.
std::string PermissionNames(std::int32_t permissions);
// "digest:me:x cdrwa", as ZooKeeper's own shell names permissions; made printable.
std::string EntryText(const zk::AclEntry& entry);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_ACL_H_

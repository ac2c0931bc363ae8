// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_MEMORY_DIGEST_H_
#define ZKRECIPES_TESTING_MEMORY_DIGEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lib/zk/seam/types.h"

namespace zkrecipes::testing::memory {

// ZooKeeper's digest scheme: "user:" and the SHA-1 of "user:password" in base64.
std::string DigestId(const std::string& credentials);

// ZooKeeper's permission bits.
constexpr int32_t kMayRead = 1;
constexpr int32_t kMayWrite = 2;
constexpr int32_t kMayCreate = 4;
constexpr int32_t kMayDelete = 8;
constexpr int32_t kMayAdminister = 16;

// Whether a client with these digest ids may do that to a node with this ACL. An empty ACL allows
// everything.
bool Allows(const std::vector<zk::AclEntry>& acl, int32_t permission,
            const std::vector<std::string>& digest_ids);

// The ACL as a client sees it: only one that may administer the node is shown the digests' hashes.
std::vector<zk::AclEntry> ShownAcl(std::vector<zk::AclEntry> acl,
                                   const std::vector<std::string>& digest_ids);

// The ACL as it is stored, the scheme "auth" replaced by each id of the client that asks. False: an
// entry that ZooKeeper refuses (kInvalidAcl).
bool FixAcl(std::vector<zk::AclEntry>& acl, const std::vector<std::string>& digest_ids);

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_TESTING_MEMORY_DIGEST_H_

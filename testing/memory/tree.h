// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_MEMORY_TREE_H_
#define ZKRECIPES_TESTING_MEMORY_TREE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/zk/seam/types.h"

namespace zkrecipes::testing::memory {

// Whether the server takes it for a path of a node other than the root.
bool IsFormatted(const std::string& path);

struct Node {
  std::string data{};
  std::vector<zk::AclEntry> acl{};
  zk::SessionId owner = 0;  // of an ephemeral node
  bool container = false;
  int64_t czxid = 0;
  int64_t mzxid = 0;  // of the last change of its data
  int64_t pzxid = 0;  // of the last change of its children
  int64_t ctime_ms = 0;
  int32_t version = 0;   // of its data
  int32_t cversion = 0;  // its children's next sequence number; deletions do not move it
  int32_t aversion = 0;  // of its ACL
  int32_t children = 0;

  friend bool operator==(const Node&, const Node&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Node& n) {
    return H::combine(std::move(h), n.data, n.acl, n.owner, n.container, n.czxid, n.mzxid, n.pzxid,
                      n.ctime_ms, n.version, n.cversion, n.aversion, n.children);
  }
};

// As a client sees it: Stat's cversion counts creations twice and takes the children off.
zk::Stat StatOf(const Node& node);

// One server's tree of nodes: a value that compares and hashes.
class Tree {
 public:
  Tree() { nodes_.emplace("/", Node()); }

  const Node* Find(const std::string& path) const;
  std::vector<std::string> Children(const std::string& path) const;  // names, sorted
  std::vector<std::string> OwnedBy(zk::SessionId session) const;     // paths, sorted
  const std::map<std::string, Node>& nodes() const { return nodes_; }

  // REQUIRES: the parent is there, `path` is not. The parent keeps the larger of its cversion and
  // `parent_cversion`, and its pzxid moves only with that, which is what stops both at 2147483647.
  void Create(const std::string& path, const Node& node, int32_t parent_cversion);
  // REQUIRES: `path` is there and has no children.
  void Delete(const std::string& path, int64_t zxid);
  // REQUIRES of both: `path` is there.
  void SetData(const std::string& path, const std::string& data, int64_t zxid);
  void SetAcl(const std::string& path, const std::vector<zk::AclEntry>& acl) {
    Node& node = nodes_.at(path);
    node.acl = acl;
    ++node.aversion;
  }
  // For tests of the end of the sequence numbers. REQUIRES: `path` is there.
  void SetCversion(const std::string& path, int32_t cversion) {
    nodes_.at(path).cversion = cversion;
  }

  friend bool operator==(const Tree&, const Tree&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Tree& t) {
    for (const auto& [path, node] : t.nodes_) h = H::combine(std::move(h), path, node);
    return H::combine(std::move(h), t.nodes_.size());
  }

 private:
  std::map<std::string, Node> nodes_;
};

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

#endif  // ZKRECIPES_TESTING_MEMORY_TREE_H_

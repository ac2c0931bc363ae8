// SPDX-License-Identifier: Apache-2.0
//
// What crosses the seam to ZooKeeper: requests, replies and watch events, as plain values that
// compare and hash, so that a state machine can hold them and a test can print them.
// All paths are the server's, namespace included (see path.h).

#ifndef ZKRECIPES_LIB_ZK_SEAM_TYPES_H_
#define ZKRECIPES_LIB_ZK_SEAM_TYPES_H_

#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lib/zk/seam/code.h"

namespace zkrecipes::zk::inline seam {

using SessionId = int64_t;               // 0: none
using Names = std::vector<std::string>;  // of the children of a node

struct Stat {
  int64_t czxid = 0;            // zxid of the transaction that created the node
  int64_t ephemeral_owner = 0;  // the owner's session, 0 for a node that is not ephemeral
  int64_t ctime_ms = 0;         // server's wall clock at creation, milliseconds since 1970
  int32_t version = 0;          // how often the data was set
  int32_t cversion = 0;
  int32_t aversion = 0;  // how often the ACL was set
  int32_t num_children = 0;

  friend bool operator==(const Stat&, const Stat&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Stat& s) {
    return H::combine(std::move(h), s.czxid, s.ephemeral_owner, s.ctime_ms, s.version, s.cversion,
                      s.aversion, s.num_children);
  }
};

// A permission on a node. `permissions` is ZooKeeper's bit set
// (read 1, write 2, create 4, delete 8, admin 16).
struct AclEntry {
  int32_t permissions = 0;
  std::string scheme;
  std::string id;
  friend bool operator==(const AclEntry&, const AclEntry&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const AclEntry& e) {
    return H::combine(std::move(h), e.permissions, e.scheme, e.id);
  }
};

// With ZooKeeper's own numbers.
enum class CreateMode { kPersistent = 0, kEphemeral = 1, kEphemeralSequential = 3, kContainer = 4 };

// create2: the reply carries the name that the server chose and the new node's Stat.
struct Create {
  std::string path;
  std::string data;
  CreateMode mode = CreateMode::kPersistent;
  std::vector<AclEntry> acl{};  // empty: HandleOptions::acl
  friend bool operator==(const Create&, const Create&) = default;
};
// kBadVersion unless the node's data has this version (-1: any). Of an absent child it is a
// *committed barrier*: the quorum commits the failure (kNoNode), in order behind everything that
// any server accepted earlier on this session.
struct Delete {
  std::string path;
  int32_t version = -1;
  friend bool operator==(const Delete&, const Delete&) = default;
};
// kBadVersion unless the node's data has this version (-1: any). The reply carries the new Stat.
struct SetData {
  std::string path;
  std::string data;
  int32_t version = 0;
  friend bool operator==(const SetData&, const SetData&) = default;
};
struct Get {  // data and Stat, no watch
  std::string path;
  friend bool operator==(const Get&, const Get&) = default;
};
struct GetChildren {  // names, no watch
  std::string path;
  friend bool operator==(const GetChildren&, const GetChildren&) = default;
};
// Who may do what with the node. A client that may not administer it sees a digest's user, and "x"
// for its hash.
struct GetAcl {
  std::string path;
  friend bool operator==(const GetAcl&, const GetAcl&) = default;
};
// Names, with a watch on the children: of a leaf it watches for the deletion. That fires the watch,
// and so does a child that comes or goes; setData does not. On an absent node the request fails
// with kNoNode and leaves nothing behind.
struct WatchNode {
  std::string path;
  friend bool operator==(const WatchNode&, const WatchNode&) = default;
};
// Watches a node's existence and its data. Answered with kOk and its Stat, or with kNoNode; it is
// armed in both cases. Creation, deletion and SetData fire it, children do not.
struct WatchExists {
  std::string path;
  friend bool operator==(const WatchExists&, const WatchExists&) = default;
};

// The server keeps the two kinds of watches on one path apart.
enum class WatchKind { kNode, kExists };  // of WatchNode and of WatchExists

// Removes this session's watch of one kind on the path from the server. The reply is kNoWatcher if
// there was none.
struct RemoveWatches {
  std::string path;
  WatchKind kind = WatchKind::kNode;
  friend bool operator==(const RemoveWatches&, const RemoveWatches&) = default;
};

// All of them or none, in order, as one transaction. Not for a container nor for a sequential node:
// the C client does not understand the answers. Each operation sees what those before it have done.
struct Multi {
  using Op = std::variant<Create, Delete, SetData>;
  std::vector<Op> ops;
  friend bool operator==(const Multi&, const Multi&) = default;
};
const std::string& PathOf(const Multi::Op& op);

using Request = std::variant<Create, Delete, SetData, Get, GetChildren, WatchNode, WatchExists,
                             RemoveWatches, GetAcl, Multi>;

// "create", "delete", ... as error messages call it.
const char* OperationName(const Request& request);
const std::string& PathOf(const Request& request);  // Multi: of the first operation

// Fields that the request does not ask for keep their defaults; after a failure all do.
struct Reply {
  Code code = Code::kOk;
  std::string path{};           // Create
  Stat stat{};                  // Create, SetData, Get, WatchExists, GetAcl
  std::string data{};           // Get
  Names children{};             // GetChildren, WatchNode: unordered
  std::vector<AclEntry> acl{};  // GetAcl
  // Multi, also if it failed: kOk of those before the one that failed, and kRuntimeInconsistency of
  // those after it. Empty if no server said so.
  std::vector<Code> codes{};
  friend bool operator==(const Reply&, const Reply&) = default;
};

// What fired a watch, which is used up by that: nothing else is known.
enum class WatchEvent {
  kDeleted,   // the watched node is gone (for the server that told us): fires both kinds
  kChanged,   // its children have changed: fires WatchKind::kNode
  kNodeData,  // it was created, or its data set: fires WatchKind::kExists
};
bool Fires(WatchEvent event, WatchKind kind);

// One watch of a session.
struct Watch {
  std::string path;
  WatchKind kind = WatchKind::kNode;
  friend auto operator<=>(const Watch&, const Watch&) = default;  // NOLINT(modernize-use-nullptr)
  template <typename H>
  friend H AbslHashValue(H h, const Watch& w) {
    return H::combine(std::move(h), w.path, w.kind);
  }
};

}  // namespace zkrecipes::zk::inline seam

#endif  // ZKRECIPES_LIB_ZK_SEAM_TYPES_H_

// SPDX-License-Identifier: Apache-2.0
//
// The names of contender nodes, in the formats that other libraries use, so that their clients and
// ours share a queue on one path:
//
//              exclusive              reader               writer              leader
//   Curator    _c_<guid>-lock-N       _c_<guid>-__READ__N  _c_<guid>-__WRIT__N  _c_<guid>-latch-N
//   kazoo      <guid>__lock__N        <guid>__rlock__N     <guid>__lock__N      <guid>__lock__N
//
// Ours alone are a semaphore's permit, _c_<guid>-permit-N, and a group's member,
// _c_<guid>-member-N.
//
// N is the sequence suffix that the server appends: "%010d" of a signed 32-bit number.
//
// The GUID is for finding a node again whose create was not answered; it has to be unique in one
// queue at one time, and every waiter reads all of them. So ours are short (ToGuid). Others write a
// UUID: Curator with its dashes, kazoo and go-zookeeper without. Read are UUIDs, and
// 8 to 32 digits and lower-case letters, so that the length may change again. See ADR 41.

#ifndef ZKRECIPES_LIB_QUEUE_MACHINE_NODE_NAME_H_
#define ZKRECIPES_LIB_QUEUE_MACHINE_NODE_NAME_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

#include "lib/base/path.h"
#include "lib/zk/seam/types.h"

namespace zkrecipes::queue::machine {

enum class Dialect : uint8_t { kCurator, kKazoo };
// The last two have no names in other libraries: Curator's dialect is that of all.
enum class Mode : uint8_t { kExclusive, kShared, kSharedWriter, kLeader, kPermit, kMember };

struct NodeName {
  Dialect dialect = Dialect::kCurator;
  Mode mode = Mode::kExclusive;  // a kazoo "__lock__" reads as kExclusive, even a writer's
  std::string guid;
  int32_t sequence = 0;

  friend bool operator==(const NodeName&, const NodeName&) = default;
};

// A child of a queue, as far as it was read.
struct ListedNode {
  std::string name;
  std::string data;
  zk::Stat stat;
  friend bool operator==(const ListedNode&, const ListedNode&) = default;
};

// Of 75 random bits: 15 of the characters 0-9 and a-z without i, l, o, u. No marker can occur in
// it, since each begins and ends with a dash or an underscore.
std::string ToGuid(uint64_t high, uint64_t low);
inline constexpr size_t kGuidBytes = 15;

// The name of a sequential node as given to the create: everything before the suffix. Its path, if
// `parent` is its parent's. REQUIRES: kCurator, of a permit or a member.
std::string NodePrefix(Dialect dialect, Mode mode, absl::string_view guid,
                       absl::string_view parent = "");

// Of the whole name, at most, with a GUID from ToGuid.
size_t NodeBytes(Dialect dialect, Mode mode);

// Of a name that ParseNodeName accepts, in bytes: what is watched is counted in them. A stranger
// may create nodes with longer names; they are no contenders.
inline constexpr size_t kLongestGuid = 36;      // a UUID with its dashes
inline constexpr size_t kLongestSequence = 11;  // "-2147483648"
inline constexpr size_t kLongestNodeName = 3 + kLongestGuid + 9 + kLongestSequence;
static_assert(kLongestNodeName == base::kMaxContenderNameBytes);

// The number as the server wrote it. REQUIRES: ParseNodeName(name) has a value.
std::string SequenceSuffix(absl::string_view name);

// nullopt for a child that is not a contender of a dialect above; such children are ignored.
std::optional<NodeName> ParseNodeName(absl::string_view name);

}  // namespace zkrecipes::queue::machine

#endif  // ZKRECIPES_LIB_QUEUE_MACHINE_NODE_NAME_H_

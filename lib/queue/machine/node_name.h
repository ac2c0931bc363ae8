// SPDX-License-Identifier: Apache-2.0
//
// The names of contender nodes, in the formats that other libraries use, so that their clients and
// ours share a queue on one path:
//
//              exclusive              reader               writer              leader
//   Curator    _c_<guid>-lock-N       _c_<guid>-__READ__N  _c_<guid>-__WRIT__N  _c_<guid>-latch-N
//   kazoo      <guid>__lock__N        <guid>__rlock__N     <guid>__lock__N      <guid>__lock__N
//
// N is the sequence suffix that the server appends: "%010d" of a signed 32-bit number.
// (go-zookeeper writes Curator's names with 32 hex digits as guid.)

#ifndef ZKRECIPES_LIB_QUEUE_MACHINE_NODE_NAME_H_
#define ZKRECIPES_LIB_QUEUE_MACHINE_NODE_NAME_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace zkrecipes::queue {

enum class Dialect { kCurator, kKazoo };
enum class Mode { kExclusive, kShared, kSharedWriter, kLeader };

struct NodeName {
  Dialect dialect = Dialect::kCurator;
  Mode mode = Mode::kExclusive;  // a kazoo "__lock__" reads as kExclusive, even a writer's
  std::string guid;
  int32_t sequence = 0;

  friend bool operator==(const NodeName&, const NodeName&) = default;
};

// The name of a sequential node as given to the create: everything before the suffix.
std::string NodePrefix(Dialect dialect, Mode mode, absl::string_view guid);

// Of a name that ParseNodeName accepts, in bytes: what is watched is counted in them. A stranger may
// create nodes with longer names; they are no contenders.
inline constexpr size_t kLongestGuid = 36;  // with its dashes
inline constexpr size_t kLongestNodeName = 3 + kLongestGuid + 9 + 11;

// The number as the server wrote it. REQUIRES: ParseNodeName(name) has a value.
std::string SequenceSuffix(absl::string_view name);

// nullopt for a child that is not a contender of a dialect above; such children are ignored.
std::optional<NodeName> ParseNodeName(absl::string_view name);

}  // namespace zkrecipes::queue

#endif  // ZKRECIPES_LIB_QUEUE_MACHINE_NODE_NAME_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_PARTITIONS_H_
#define ZKRECIPES_TOOLS_ZKR_PARTITIONS_H_

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"

#include "lib/queue/machine/node_name.h"
#include "zkrecipes/contenders.h"

namespace zkrecipes::zkr {

// A path of Partitions, as its nodes show it (docs/znode_layout.md).

// The queue of a partition's lock: the first owns it, the others wait. nullopt: not to be read.
struct PartitionQueue {
  std::string name = {};
  std::optional<std::vector<ContenderInfo>> queue = {};

  const ContenderInfo* owner() const {
    return queue && !queue->empty() ? &queue->front() : nullptr;
  }
  bool unowned() const { return queue && queue->empty(); }
  bool known() const;  // who owns it, or that nobody does
};

struct PartitionMember {
  enum class State {
    kPresent,
    kReplaced,  // a later node has its id, and counts: another process, or it came back
    kAway,      // it may come back: its home is there
  };
  std::string id = {};    // of a node that may not be read: the node's name
  std::string list = {};  // of names, with the version of the function that assigns; empty: unknown
  int weight = 0;         // 0: unknown
  State state = State::kPresent;
  ContenderInfo node = {};  // in the group; not of one that is away

  // By its id, and in its session: of two processes with one id each has its own.
  bool Owns(const PartitionQueue& p) const;
};

struct PartitionsView {
  std::vector<PartitionQueue> partitions = {};  // numbers first and as such, then by name
  std::vector<PartitionMember> members = {};    // by id; those that are away at the end
  bool knows_away = true;                       // otherwise who is away is unknown

  // nullopt: the member's node or a partition's owner may not be read.
  std::optional<std::size_t> CountOwnedBy(const PartitionMember& member) const;
  std::size_t CountUnowned() const;
  std::size_t CountMembers(PartitionMember::State state) const;
  std::set<std::string> Lists() const;  // of the members that are present
  // Whether the partitions are those that the members have in mind: one that nobody owns or waits
  // for may have no node. nullopt: no member, or several lists.
  std::optional<bool> IsWhole() const;
  // Whether each of those names has an owner, as far as is known; nodes of other names do not
  // matter, which an earlier list may have left. nullopt: as for IsWhole.
  std::optional<bool> AreOwned() const;
};

// What was read. nullopt: of another path, where nothing is Partitions'. Pure.
struct PartitionsRead {
  std::vector<queue::machine::ListedNode> members = {};
  std::vector<std::string> homes = {};
  bool homes_read = true;  // false: they may not be listed
  std::vector<PartitionQueue> partitions = {};
};
std::optional<PartitionsView> ViewPartitions(PartitionsRead read);

// "16 partitions, 1 of them owned by nobody; 4 members, 1 away", and what is unusual or unknown.
std::string PartitionsSummary(const PartitionsView& view);
std::string PartitionsText(const PartitionsView& view);  // the summary, and two tables
nlohmann::ordered_json PartitionsJson(const PartitionsView& view);

}  // namespace zkrecipes::zkr

#endif  // ZKRECIPES_TOOLS_ZKR_PARTITIONS_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_MACHINE_PARTITION_PLAN_H_
#define ZKRECIPES_RECIPES_MACHINE_PARTITION_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "recipes/machine/assignment.h"

namespace zkrecipes::recipes::machine {

// A member as its node in the group says.
struct PresentMember {
  std::string id;
  std::string data;
  absl::Time since;   // by the servers' clock
  int64_t token = 0;  // of its node
  friend bool operator==(const PresentMember&, const PresentMember&) = default;
};

// Of the function that assigns, and of the list of names: members of one such text share.
std::string ListOf(const std::vector<std::string>& names);

// The data of a member, and the name of its home: of the function that assigns, of the list of
// names, and the weight.
std::string MemberData(const std::vector<std::string>& names, int weight);

// A home is a node that stays when its member has gone, under a name of its data and its id. A
// member without it that has a home is away (see Sharer).
std::string HomeName(const std::string& data, const std::string& id);
std::optional<std::string> IdOfHome(const std::string& name);  // of any version

// What a member's data say, of any version. nullopt: they are no such data.
struct MemberSays {
  std::string list;  // as ListOf
  int weight = 1;
};
std::optional<MemberSays> ParseMemberData(const std::string& data);
// Likewise of the name of a home.
inline std::optional<MemberSays> ParseHome(const std::string& name) {
  return IdOfHome(name) ? ParseMemberData(name.substr(0, name.rfind('-'))) : std::nullopt;
}

struct PartitionPlan {
  std::vector<Sharer> sharers;   // those of the same list, with those that are away
  std::vector<size_t> assigned;  // of each name the index in `sharers`, or kNobody
  size_t members = 0;            // that are present
  size_t other_lists = 0;        // present members that have another list
  bool joined = false;           // whether `id` is present
  absl::Duration first_wait;     // what is left of it, counted from the moment when `id` joined
  int64_t spell = 0;             // the token of its node

  std::vector<bool> Of(const std::string& id) const;  // of each name
};

// What members with this list of names have, by a view of the group and of the homes. Pure.
// `data`: that of `id`, with the list.
PartitionPlan Plan(const std::string& id, const std::string& data,
                   const std::vector<std::string>& names, const std::vector<PresentMember>& present,
                   std::vector<std::string> homes, absl::Duration first_wait);

}  // namespace zkrecipes::recipes::machine

#endif  // ZKRECIPES_RECIPES_MACHINE_PARTITION_PLAN_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_PARTITIONS_CORE_H_
#define ZKRECIPES_RECIPES_PARTITIONS_CORE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "recipes/machine/partition_plan.h"
#include "zkrecipes/group.h"
#include "zkrecipes/partitions.h"

namespace zkrecipes::internal {

// What all calls of one Partitions have in common. Immutable.
class PartitionsCore {
 public:
  using Present = std::vector<recipes::machine::PresentMember>;

  PartitionsCore(std::shared_ptr<Client> its_client, std::string at, std::vector<std::string> of,
                 PartitionsOptions its_options);

  const std::shared_ptr<Client> client;
  const std::string path;
  const std::vector<std::string> names;
  const PartitionsOptions options;  // with an id
  const std::string data;           // of the member
  const bool has_home;              // its id was given, so that it may come back under it
  const absl::Status rule;          // that something of these breaks: InvalidArgument

  Group group() const;
  std::string homes() const { return path + "/homes"; }
  std::string lock(size_t which) const { return path + "/partitions/" + names[which]; }

  static Present PresentIn(const GroupView& view);
  recipes::machine::PartitionPlan Plan(const Present& present,
                                       std::vector<std::string> homes) const;
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_RECIPES_PARTITIONS_CORE_H_

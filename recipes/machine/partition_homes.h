// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_MACHINE_PARTITION_HOMES_H_
#define ZKRECIPES_RECIPES_MACHINE_PARTITION_HOMES_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/boot_time.h"
#include "recipes/machine/partition_plan.h"

namespace zkrecipes::recipes::machine {

// The homes of all members (HomeName), as one member sees them, and which of them it deletes; a
// copyable value.
class PartitionHomes {
 public:
  // Of the member that looks. `own`: the name of its home.
  PartitionHomes(std::string id, std::string own) : id_(std::move(id)), own_(std::move(own)) {}

  void OnListed(std::vector<std::string> names) { names_ = std::move(names); }
  const std::string& own() const { return own_; }
  // Nullopt before the first listing.
  const std::optional<std::vector<std::string>>& names() const { return names_; }
  bool HasOwn() const;
  // Those of this member's id that are not its own: of another list, or another weight.
  std::vector<std::string> Former() const;
  // Those whose members have been missed for ten minutes. They go with a change of the group, which
  // moves some partitions anyway: to forget a member moves others than its own, for the sake of the
  // exact balance.
  std::vector<std::string> Forgotten(const std::vector<PresentMember>& present, base::BootTime now);
  // What is missing when this member sees again may have been there meanwhile.
  void OnCutOff() { away_.clear(); }

 private:
  std::string id_;
  std::string own_;
  std::optional<std::vector<std::string>> names_;
  std::vector<PresentMember> noted_;            // when Forgotten was asked last
  std::map<std::string, base::BootTime> away_;  // homes, since their ids have been missed
};

}  // namespace zkrecipes::recipes::machine

#endif  // ZKRECIPES_RECIPES_MACHINE_PARTITION_HOMES_H_

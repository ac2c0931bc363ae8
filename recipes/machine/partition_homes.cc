// SPDX-License-Identifier: Apache-2.0

#include "recipes/machine/partition_homes.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"

namespace zkrecipes::recipes::machine {
namespace {

// Of members that have gone, and may come back: they are known for so long.
constexpr absl::Duration kAway = absl::Minutes(10);

}  // namespace

bool PartitionHomes::HasOwn() const {
  return names_.has_value() && std::ranges::find(*names_, own_) != names_->end();
}

std::vector<std::string> PartitionHomes::Former() const {
  std::vector<std::string> former;
  if (!names_.has_value()) return former;
  for (const std::string& name : *names_) {
    if (name != own_ && IdOfHome(name) == id_) former.push_back(name);
  }
  return former;
}

std::vector<std::string> PartitionHomes::Forgotten(const std::vector<PresentMember>& present,
                                                   base::BootTime now) {
  std::vector<std::string> forgotten;
  if (!names_.has_value()) return forgotten;
  const bool changed = noted_ != present;
  noted_ = present;
  std::map<std::string, base::BootTime> still;
  for (const std::string& name : *names_) {
    const std::optional<std::string> id = IdOfHome(name);
    if (!id || std::ranges::find(present, *id, &PresentMember::id) != present.end()) continue;
    const base::BootTime since = away_.emplace(name, now).first->second;
    still[name] = since;
    if (changed && now - since >= kAway) forgotten.push_back(name);
  }
  away_ = std::move(still);
  return forgotten;
}

}  // namespace zkrecipes::recipes::machine

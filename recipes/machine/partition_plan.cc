// SPDX-License-Identifier: Apache-2.0

#include "recipes/machine/partition_plan.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace zkrecipes::recipes::machine {
namespace {

// Of another version, list or text: nullopt.
std::optional<int> WeightIn(const std::string& data, const std::string& prefix) {
  int weight = 0;
  if (!absl::StartsWith(data, prefix) ||
      !absl::SimpleAtoi(absl::string_view(data).substr(prefix.size()), &weight)) {
    return std::nullopt;
  }
  if (weight < 1 || weight > kMostWeight) return std::nullopt;
  return weight;
}

std::string PrefixOf(const std::vector<std::string>& names) {
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  // No name has a slash.
  return absl::StrCat("p", kAssignmentVersion, "-",
                      absl::Hex(HashOf(absl::StrJoin(sorted, "/")), absl::kZeroPad16), "-");
}

}  // namespace

std::string MemberData(const std::vector<std::string>& names, int weight) {
  return absl::StrCat(PrefixOf(names), weight);
}

// In hexadecimal digits, since an id may have any character.
std::string HomeName(const std::string& data, const std::string& id) {
  return absl::StrCat(data, "-", absl::BytesToHexString(id));
}

std::vector<bool> PartitionPlan::Of(const std::string& id) const {
  std::vector<bool> mine(assigned.size(), false);
  for (size_t i = 0; i < assigned.size(); ++i) {
    mine[i] = assigned[i] != kNobody && sharers[assigned[i]].id == id;
  }
  return mine;
}

PartitionPlan Plan(const std::string& id, const std::vector<std::string>& names,
                   const std::vector<PresentMember>& present, std::vector<std::string> homes,
                   absl::Duration first_wait) {
  PartitionPlan plan;
  std::set<std::string> known;
  const std::string prefix = PrefixOf(names);
  absl::Time oldest = absl::InfiniteFuture();
  absl::Time own = absl::InfinitePast();
  for (const PresentMember& member : present) {
    const std::optional<int> weight = WeightIn(member.data, prefix);
    if (!weight.has_value()) {
      ++plan.other_lists;
      continue;
    }
    ++plan.members;
    known.insert(member.id);
    plan.sharers.push_back({member.id, *weight});
    oldest = std::min(oldest, member.since);
    if (member.id == id) own = member.since;
  }
  plan.joined = own != absl::InfinitePast();
  if (plan.joined) {
    plan.first_wait = std::max(absl::ZeroDuration(), oldest + first_wait - own);
  }
  std::ranges::sort(homes);  // of two of one id all members take the same
  for (const std::string& home : homes) {
    const size_t dash = std::min(home.rfind('-'), home.size());
    const std::optional<int> weight = WeightIn(home.substr(0, dash), prefix);
    if (!weight.has_value()) continue;
    const std::string its_id = absl::HexStringToBytes(home.substr(dash + 1));
    if (!known.insert(its_id).second) continue;
    plan.sharers.push_back({its_id, *weight, /*present=*/false});
    plan.away.push_back(home);
  }
  plan.assigned = Assign(plan.sharers, names);
  return plan;
}

}  // namespace zkrecipes::recipes::machine

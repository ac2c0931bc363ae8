// SPDX-License-Identifier: Apache-2.0

#include "recipes/machine/partition_plan.h"

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

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

}  // namespace

std::string ListOf(const std::vector<std::string>& names) {
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  // No name has a slash.
  return absl::StrCat("p", kAssignmentVersion, "-",
                      absl::Hex(HashOf(absl::StrJoin(sorted, "/")), absl::kZeroPad16));
}

std::string MemberData(const std::vector<std::string>& names, int weight) {
  return absl::StrCat(ListOf(names), "-", weight);
}

std::optional<MemberSays> ParseMemberData(const std::string& data) {
  const std::vector<std::string> parts = absl::StrSplit(data, '-');
  const auto digits = [](absl::string_view text) {
    return !text.empty() && std::ranges::all_of(text, absl::ascii_isdigit);
  };
  const bool well_formed = parts.size() == 3 && absl::StartsWith(parts[0], "p") &&
                           digits(absl::string_view(parts[0]).substr(1)) && parts[1].size() == 16 &&
                           std::ranges::all_of(parts[1], absl::ascii_isxdigit) && digits(parts[2]);
  if (!well_formed) return std::nullopt;
  const std::string list = absl::StrCat(parts[0], "-", parts[1]);
  const std::optional<int> weight = WeightIn(data, list + "-");
  if (!weight.has_value()) return std::nullopt;
  return MemberSays{list, *weight};
}

// In hexadecimal digits, since an id may have any character.
std::string HomeName(const std::string& data, const std::string& id) {
  return absl::StrCat(data, "-", absl::BytesToHexString(id));
}

std::optional<std::string> IdOfHome(const std::string& name) {
  const std::vector<std::string> parts = absl::StrSplit(name, '-');
  const bool well_formed = parts.size() == 4 && absl::StartsWith(name, "p") &&
                           parts[3].size() % 2 == 0 &&
                           std::ranges::all_of(parts[3], absl::ascii_isxdigit);
  if (!well_formed) return std::nullopt;
  return absl::HexStringToBytes(parts[3]);
}

std::vector<bool> PartitionPlan::Of(const std::string& id) const {
  std::vector<bool> mine(assigned.size(), false);
  for (size_t i = 0; i < assigned.size(); ++i) {
    mine[i] = assigned[i] != kNobody && sharers[assigned[i]].id == id;
  }
  return mine;
}

PartitionPlan Plan(const std::string& id, const std::string& data,
                   const std::vector<std::string>& names, const std::vector<PresentMember>& present,
                   std::vector<std::string> homes, absl::Duration first_wait) {
  PartitionPlan plan;
  std::set<std::string> known;
  const std::string prefix = data.substr(0, data.rfind('-') + 1);
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
    if (member.id != id) continue;
    own = member.since;
    plan.spell = member.token;
  }
  plan.joined = own != absl::InfinitePast();
  if (plan.joined) {
    plan.first_wait = std::max(absl::ZeroDuration(), oldest + first_wait - own);
  }
  std::ranges::sort(homes);  // of two of one id all members take the same
  for (const std::string& home : homes) {
    const std::optional<std::string> its_id = IdOfHome(home);
    const std::optional<int> weight = WeightIn(home.substr(0, home.rfind('-')), prefix);
    if (!its_id.has_value() || !weight.has_value() || !known.insert(*its_id).second) continue;
    plan.sharers.push_back({*its_id, *weight, /*present=*/false});
  }
  plan.assigned = Assign(plan.sharers, names);
  return plan;
}

}  // namespace zkrecipes::recipes::machine

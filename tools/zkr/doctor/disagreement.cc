// SPDX-License-Identifier: Apache-2.0

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/zkr/doctor/look.h"

namespace zkrecipes::zkr::doctor {

std::vector<Disagreement> Disagreements(const ServersShow& before, const ServersShow& then,
                                        const ServersShow& after) {
  std::vector<Disagreement> found;
  std::set<std::pair<std::string, std::string>> told;
  for (const auto& [shower, names] : before) {
    const auto still = after.find(shower);
    if (still == after.end()) continue;
    for (const auto& [other, shown] : then) {
      for (const std::string& node : names) {
        if (!still->second.contains(node) || shown.contains(node)) continue;
        if (told.insert({node, other}).second) found.push_back({node, shower, other});
      }
    }
  }
  return found;
}

}  // namespace zkrecipes::zkr::doctor

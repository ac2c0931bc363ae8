// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "tools/zkr/doctor/finding.h"
#include "tools/zkr/output.h"

namespace zkrecipes::zkr::doctor {
namespace {

constexpr std::ptrdiff_t kMostNamed = 5;

void Append(Findings more, Findings& found) {
  std::move(more.begin(), more.end(), std::back_inserter(found));
}

}  // namespace

Findings Diagnose(const Facts& facts) {
  Findings found;
  Append(JudgeServers(facts), found);
  Append(JudgeTimeouts(facts), found);
  Append(JudgeEpoch(facts), found);
  Append(JudgeSessions(facts), found);
  // Of an ancestor only the ACL is judged: whether PATH can be made there.
  for (const PathFacts& path : facts.paths) {
    Append(JudgeQueue(facts, path), found);
    Append(JudgeAcls(facts, path), found);
  }
  // Findings before notes, each in the order of the judges.
  std::ranges::stable_sort(found, {}, &Finding::kind);
  return found;
}

std::string NameSome(const std::vector<std::string>& names) {
  const auto size = static_cast<std::ptrdiff_t>(names.size());
  const auto end = names.begin() + std::min(size, kMostNamed);
  const std::string some =
      absl::StrJoin(names.begin(), end, ", ",
                    [](std::string* out, const auto& name) { out->append(Printable(name)); });
  return size <= kMostNamed ? some : absl::StrCat(some, " and ", size - kMostNamed, " more");
}

}  // namespace zkrecipes::zkr::doctor

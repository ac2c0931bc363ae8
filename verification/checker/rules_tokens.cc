// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <map>

#include "absl/strings/str_cat.h"

#include "verification/checker/rule.h"

namespace zkrecipes::history {
namespace {

// Of the grants heard of so far: the largest token of all, and of the exclusive ones.
struct Largest {
  const Attempt* any = nullptr;
  const Attempt* exclusive = nullptr;

  void Add(const Attempt& attempt) {
    if (any == nullptr || attempt.token() > any->token()) any = &attempt;
    if (!attempt.exclusive()) return;
    if (exclusive == nullptr || attempt.token() > exclusive->token()) exclusive = &attempt;
  }
};

bool IsDowngradeOf(const Attempt& later, const Attempt& earlier) {
  return later.from == &earlier && !later.exclusive() && earlier.exclusive();
}

}  // namespace

Complaints TokenOrder(const Evidence& evidence) {
  Complaints complaints;
  for (const auto& [path, grants] : evidence.story.grants()) {
    Largest largest;
    for (const Attempt* attempt : grants) {
      const Attempt* before = attempt->exclusive() ? largest.any : largest.exclusive;
      largest.Add(*attempt);
      // One that was heard of late may be the older one, rightly.
      if (before == nullptr || !attempt->sure() || before->token() <= attempt->token()) continue;
      complaints.push_back(
          {.what = absl::StrCat(NameOf(*attempt), " was granted at ",
                                When(evidence.story, attempt->granted_at()),
                                " with a smaller token than ", NameOf(*before), " before, at ",
                                When(evidence.story, before->granted_at())),
           .at = attempt->granted_at(),
           .events = {*before->grant, *attempt->grant}});
    }
  }
  return complaints;
}

Complaints TokenTwice(const Evidence& evidence) {
  Complaints complaints;
  std::map<int64_t, const Attempt*> seen;
  for (const auto& [path, grants] : evidence.story.grants()) {
    for (const Attempt* attempt : grants) {
      const auto [found, is_new] = seen.emplace(attempt->token(), attempt);
      const Attempt& first = *found->second;
      if (is_new || IsDowngradeOf(*attempt, first) || IsDowngradeOf(first, *attempt)) continue;
      complaints.push_back(
          {.what = absl::StrCat(NameOf(*attempt), " has the token of ", NameOf(first)),
           .at = attempt->granted_at(),
           .events = {*first.grant, *attempt->grant}});
    }
  }
  return complaints;
}

}  // namespace zkrecipes::history

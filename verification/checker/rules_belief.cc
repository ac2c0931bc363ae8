// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"

#include "verification/checker/rule.h"

namespace zkrecipes::history {
namespace {

// The grants of its path that were heard of from then on.
auto GrantsFrom(const std::vector<const Attempt*>& grants, int64_t at) {
  return std::lower_bound(grants.begin(), grants.end(), at,
                          [](const Attempt* a, int64_t t) { return a->granted_at() < t; });
}

bool Believed(const Event& belief) { return belief.state == "held" || belief.state == "suspect"; }

struct Look {
  const Event* belief = nullptr;
  int64_t after = 0;  // not earlier than that; 0: nobody looked
};

// The last one that believed.
Look LastBelief(const Attempt& attempt) {
  for (std::size_t i = attempt.beliefs.size(); i > 0; --i) {
    const Event* belief = attempt.beliefs[i - 1];
    if (Believed(*belief)) return {belief, LookedAfter(attempt, i - 1)};
  }
  return {};
}

const Event* LastPromise(const Attempt& attempt) {
  const Event* last = attempt.grant;
  for (const Event* belief : attempt.beliefs) {
    if (belief->until > last->until) last = belief;
  }
  return last;
}

}  // namespace

Complaints Believers(const Evidence& evidence) {
  Complaints complaints;
  for (const auto& [path, grants] : evidence.story.grants()) {
    for (const Attempt* a : grants) {
      const int64_t until = a->ProvenUntil();
      for (auto it = GrantsFrom(grants, a->granted_at());
           it != grants.end() && (*it)->granted_at() < until; ++it) {
        const Attempt& b = **it;
        if (!Conflict(*a, b) || b.granted_after() < a->granted_at()) continue;
        const Event& promise = *LastPromise(*a);
        complaints.push_back(
            {.what = absl::StrCat(NameOf(b), " was granted at ",
                                  When(evidence.story, b.granted_at()), ", though ", NameOf(*a),
                                  " had been told that nobody would be before ",
                                  When(evidence.story, promise.until)),
             .at = b.granted_at(),
             .events = {promise, *b.grant}});
      }
    }
  }
  return complaints;
}

Complaints HeldTwice(const Evidence& evidence) {
  Complaints complaints;
  for (const auto& [path, grants] : evidence.story.grants()) {
    for (const Attempt* a : grants) {
      const Look look = LastBelief(*a);
      for (auto it = GrantsFrom(grants, a->granted_at());
           it != grants.end() && (*it)->granted_at() < look.after; ++it) {
        const Attempt& b = **it;
        if (!Conflict(*a, b) || b.token() < a->token()) continue;
        complaints.push_back(
            {.what = absl::StrCat(NameOf(*a), " was seen ", look.belief->state, " at ",
                                  When(evidence.story, look.belief->at), ", after the grant to ",
                                  NameOf(b), " at ", When(evidence.story, b.granted_at())),
             .at = look.belief->at,
             .events = {*b.grant, *look.belief}});
      }
    }
  }
  return complaints;
}

Complaints HeldAfterLost(const Evidence& evidence) {
  Complaints complaints;
  for (const Attempt& attempt : evidence.story.attempts()) {
    const Look look = LastBelief(attempt);
    if (attempt.lost == nullptr || look.after <= attempt.lost->at) continue;
    complaints.push_back({.what = absl::StrCat(NameOf(attempt), " was seen ", look.belief->state,
                                               " at ", When(evidence.story, look.belief->at),
                                               ", though lost() had fired at ",
                                               When(evidence.story, attempt.lost->at)),
                          .at = look.belief->at,
                          .events = {*attempt.lost, *look.belief}});
  }
  return complaints;
}

}  // namespace zkrecipes::history

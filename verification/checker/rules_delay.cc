// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"

#include "verification/checker/rule.h"

namespace zkrecipes::history {
namespace {

int64_t ToBoot(int64_t wall_ms, const Limits& limits) {
  return absl::ToInt64Nanoseconds(absl::Milliseconds(wall_ms) - limits.wall_less_boot);
}

// When its node went without having been released, at the earliest. kNever: it did not.
int64_t VanishedAt(const Attempt& attempt, const Evidence& evidence) {
  const Contender* node = evidence.log.Find(attempt);
  if (node == nullptr || node->life->gone_zxid == 0) return kNever;
  const int64_t gone = ToBoot(node->life->gone_ms, evidence.limits);
  const int64_t rounding = absl::ToInt64Nanoseconds(evidence.limits.rounding);
  const bool released = attempt.release != nullptr && attempt.release->at <= gone + rounding;
  return released ? kNever : gone - rounding;
}

std::vector<const Attempt*> ByToken(std::vector<const Attempt*> grants) {
  std::sort(grants.begin(), grants.end(),
            [](const Attempt* a, const Attempt* b) { return a->token() < b->token(); });
  return grants;
}

}  // namespace

Complaints LockDelay(const Evidence& evidence) {
  Complaints complaints;
  for (const auto& [path, grants] : evidence.story.grants()) {
    const Attempt* vanished = nullptr;  // the last of those with smaller tokens
    int64_t since = 0;
    for (const Attempt* attempt : ByToken(grants)) {
      const int64_t due = since + attempt->lock_delay();
      if (vanished != nullptr && attempt->lock_delay() > 0 && attempt->granted_at() < due) {
        complaints.push_back(
            {.what = absl::StrCat(NameOf(*attempt), " was granted at ",
                                  When(evidence.story, attempt->granted_at()), ", though ",
                                  NameOf(*vanished), " had vanished at ",
                                  When(evidence.story, since), ", and the lock delay is ",
                                  absl::FormatDuration(absl::Nanoseconds(attempt->lock_delay()))),
             .at = attempt->granted_at(),
             .events = {*vanished->grant, *attempt->grant}});
      }
      const int64_t gone = VanishedAt(*attempt, evidence);
      if (gone == kNever || gone < since) continue;
      vanished = attempt;
      since = gone;
    }
  }
  return complaints;
}

}  // namespace zkrecipes::history

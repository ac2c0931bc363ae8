// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"

#include "verification/checker/rule.h"

namespace zkrecipes::history {
namespace {

// Another fault is on at some moment of the span.
bool Disturbed(const Story& story, const FaultSpan& fault, int64_t begin, int64_t end) {
  return std::any_of(story.faults().begin(), story.faults().end(), [&](const FaultSpan& other) {
    return &other != &fault && other.begin < end && other.end > begin;
  });
}

// Somebody waits for all of that time.
const Attempt* Waiter(const Story& story, int64_t begin, int64_t end) {
  for (const Process& process : story.processes()) {
    if (process.killed < end) continue;
    for (const Attempt* attempt : process.attempts) {
      const Event* over = attempt->granted() ? attempt->grant : attempt->failed;
      if (attempt->invoke != nullptr && attempt->asked_at() <= begin &&
          (over == nullptr || over->at > end)) {
        return attempt;
      }
    }
  }
  return nullptr;
}

}  // namespace

Complaints Recovery(const Evidence& evidence) {
  Complaints complaints;
  const Story& story = evidence.story;
  const std::vector<int64_t> grants = GrantTimes(story);
  for (const FaultSpan& fault : story.faults()) {
    if (fault.end == kNever) continue;
    const int64_t due = fault.end + absl::ToInt64Nanoseconds(evidence.limits.recovery);
    const auto first = std::lower_bound(grants.begin(), grants.end(), fault.end);
    if (first != grants.end() && *first <= due) continue;
    if (story.end() < due || Disturbed(story, fault, fault.end, due)) continue;
    const Attempt* waiter = Waiter(story, fault.end, due);
    if (waiter == nullptr) continue;
    complaints.push_back(
        {.what = absl::StrCat("After ", fault.name, " (", fault.target, ") had ended at ",
                              When(story, fault.end), " nobody was granted anything for ",
                              absl::FormatDuration(evidence.limits.recovery), ", though ",
                              NameOf(*waiter), " was waiting"),
         .at = due,
         .events = {*waiter->invoke}});
  }
  return complaints;
}

}  // namespace zkrecipes::history

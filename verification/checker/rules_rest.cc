// SPDX-License-Identifier: Apache-2.0
//
// What must be true once there are no more faults.

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "verification/checker/rule.h"

namespace zkrecipes::history {
namespace {

const Event* EndOfWait(const Attempt& attempt) {
  return attempt.granted() ? attempt.grant : attempt.failed;
}

int64_t Later(int64_t at, absl::Duration by) { return at + absl::ToInt64Nanoseconds(by); }

bool BeginsWithOne(const std::string& text, const std::vector<std::string>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](const std::string& b) { return absl::StartsWith(text, b); });
}

}  // namespace

namespace {

// It was not over in time, though its process lived. A history that ends before that says nothing.
bool Hangs(const Story& story, const Process& process, const Attempt& attempt, int64_t due) {
  if (process.killed < due) return false;
  const Event* end = EndOfWait(attempt);
  if (end != nullptr) return end->at > due;
  return story.end() >= due || process.ended != kNever;
}

std::string Describe(const Story& story, const Attempt& attempt) {
  const Event* end = EndOfWait(attempt);
  return absl::StrCat(NameOf(attempt), " waited from ", When(story, attempt.asked_at()),
                      end == nullptr ? std::string(" and had no answer")
                                     : absl::StrCat(" to ", When(story, end->at)),
                      ", though there were no faults after ", When(story, story.quiet()));
}

}  // namespace

Complaints Progress(const Evidence& evidence) {
  Complaints complaints;
  const Story& story = evidence.story;
  if (story.quiet() == kNever) return complaints;
  for (const Process& process : story.processes()) {
    for (const Attempt* attempt : process.attempts) {
      if (attempt->invoke == nullptr) continue;
      const int64_t due =
          Later(std::max(story.quiet(), attempt->asked_at()), evidence.limits.progress);
      if (!Hangs(story, process, *attempt, due)) continue;
      complaints.push_back({.what = Describe(story, *attempt),
                            .at = std::min(due, story.end()),
                            .events = {*attempt->invoke}});
    }
  }
  return complaints;
}

namespace {

// What a Release may answer, whatever is wrong (lease.h), or the recorder where there is no answer.
const std::vector<std::string> kReleased = {"OK", "ABORTED", "CANCELLED", "DEADLINE_EXCEEDED",
                                            "by "};

void JudgeReleases(const Story& story, Complaints& complaints) {
  for (const Attempt& attempt : story.attempts()) {
    const Event* end = attempt.released;
    if (end == nullptr || end->detail.empty() || BeginsWithOne(end->detail, kReleased)) continue;
    complaints.push_back({.what = absl::StrCat(NameOf(attempt), " was released at ",
                                               When(story, end->at), " with ", end->detail),
                          .at = end->at,
                          .events = {*end}});
  }
}

}  // namespace

Complaints Answers(const Evidence& evidence) {
  Complaints complaints;
  const Story& story = evidence.story;
  JudgeReleases(story, complaints);
  const int64_t at_rest =
      story.quiet() == kNever ? kNever : Later(story.quiet(), evidence.limits.recovery);
  for (const Attempt& attempt : story.attempts()) {
    if (attempt.failed == nullptr) continue;
    const bool patient = attempt.failed->at >= Later(attempt.asked_at(), evidence.limits.recovery);
    const bool gave_up = absl::StartsWith(attempt.failed->detail, "DEADLINE_EXCEEDED") && !patient;
    const bool rest = attempt.asked_at() >= at_rest && !gave_up;
    if (BeginsWithOne(attempt.failed->detail, rest ? evidence.limits.failures_at_rest
                                                   : evidence.limits.failures_under_faults)) {
      continue;
    }
    complaints.push_back(
        {.what = absl::StrCat(NameOf(attempt), " failed at ", When(story, attempt.failed->at),
                              rest ? ", with nothing wrong: " : ": ", attempt.failed->detail),
         .at = attempt.failed->at,
         .events = {*attempt.failed}});
  }
  return complaints;
}

Complaints Orphans(const Evidence& evidence) {
  Complaints complaints;
  if (!evidence.limits.left.has_value()) return complaints;
  std::set<std::string> tested;
  for (const Attempt& attempt : evidence.story.attempts()) tested.insert(attempt.path);
  std::set<std::string> left(evidence.limits.left->begin(), evidence.limits.left->end());
  for (const auto& [path, contenders] : evidence.log.contenders()) {
    if (contenders.back().life->gone_zxid == 0 && tested.count(ParentOf(path)) > 0) {
      left.insert(path);
    }
  }
  for (const std::string& path : left) {
    Violation complaint{.what = absl::StrCat(path, " is left, though nobody uses it any more"),
                        .at = evidence.story.end()};
    for (const Attempt& attempt : evidence.story.attempts()) {
      if (!attempt.granted() || attempt.grant->node != path) continue;
      complaint.what += absl::StrCat(": it is of ", NameOf(attempt));
      complaint.events.push_back(*attempt.grant);
    }
    complaints.push_back(std::move(complaint));
  }
  return complaints;
}

}  // namespace zkrecipes::history

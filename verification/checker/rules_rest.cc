// SPDX-License-Identifier: Apache-2.0
//
// What must be true once there are no more faults, or none for a while.

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/match.h"

#include "verification/checker/rule.h"

namespace zkrecipes::history {
namespace {

int64_t Later(int64_t at, absl::Duration by) { return at + absl::ToInt64Nanoseconds(by); }

bool BeginsWithOne(const std::string& text, const std::vector<std::string>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](const std::string& b) { return absl::StartsWith(text, b); });
}

// The wait was not over in time, though its process lived. A history that ends before that says nothing.
bool Hangs(const Chronicle& run, const ProcessLife& process, const Attempt& attempt, int64_t due) {
  if (attempt.invoke == nullptr || process.killed < due) return false;
  if (const Event* end = attempt.EndOfWait()) return end->at > due;
  return run.end() >= due || process.ended != kNever;
}

void Progress(const Evidence& evidence, Complaints& complaints) {
  const Chronicle& run = evidence.run;
  if (run.quiet() == kNever) return;
  for (const ProcessLife& process : run.processes()) {
    for (const Attempt* attempt : process.attempts) {
      const int64_t due =
          Later(std::max(run.quiet(), attempt->asked_at()), evidence.limits.progress);
      if (!Hangs(run, process, *attempt, due)) continue;
      const Event* end = attempt->EndOfWait();
      complaints.Add(
          std::min(due, run.end()), {attempt->invoke}, NameOf(*attempt), " waited from ",
          evidence.When(attempt->asked_at()),
          end == nullptr ? " and had no answer" : absl::StrCat(" to ", evidence.When(end->at)),
          ", though there were no faults after ", evidence.When(run.quiet()));
    }
  }
}

// ---- answers -----------------------------------------------------------------------------------

// What a Release may answer, whatever is wrong (lease.h), or the recorder where there is no answer.
const std::vector<std::string> kReleased = {"OK", "ABORTED", "CANCELLED", "DEADLINE_EXCEEDED",
                                            "by "};

void JudgeRelease(const Evidence& evidence, const Attempt& attempt, Complaints& complaints) {
  const Event* end = attempt.released;
  if (end == nullptr || end->detail.empty() || BeginsWithOne(end->detail, kReleased)) return;
  complaints.Add(end->at, {end}, NameOf(attempt), " was released at ", evidence.When(end->at),
                 " with ", end->detail);
}

// It was asked when nothing had been wrong for long, and did not just give up.
bool IsAtRest(const Evidence& evidence, const Attempt& attempt) {
  const absl::Duration recovery = evidence.limits.recovery;
  const int64_t quiet = evidence.run.quiet();
  if (quiet == kNever || attempt.asked_at() < Later(quiet, recovery)) return false;
  const bool patient = attempt.failed->at >= Later(attempt.asked_at(), recovery);
  return patient || !absl::StartsWith(attempt.failed->detail, "DEADLINE_EXCEEDED");
}

void Answers(const Evidence& evidence, Complaints& complaints) {
  for (const Attempt& attempt : evidence.run.attempts()) {
    JudgeRelease(evidence, attempt, complaints);
    const Event* failed = attempt.failed;
    if (failed == nullptr) continue;
    const bool rest = IsAtRest(evidence, attempt);
    const Limits& limits = evidence.limits;
    if (BeginsWithOne(failed->detail,
                      rest ? limits.failures_at_rest : limits.failures_under_faults)) {
      continue;
    }
    complaints.Add(failed->at, {failed}, NameOf(attempt), " failed at ", evidence.When(failed->at),
                   rest ? ", with nothing wrong: " : ": ", failed->detail);
  }
}

void Orphans(const Evidence& evidence, Complaints& complaints) {
  if (!evidence.limits.left.has_value()) return;
  std::set<std::string> tested;
  for (const Attempt& attempt : evidence.run.attempts()) tested.insert(attempt.path);
  std::set<std::string> left(evidence.limits.left->begin(), evidence.limits.left->end());
  for (const auto& [path, nodes] : evidence.log.nodes()) {
    const bool there = nodes.back().life->gone_zxid == 0;
    if (there && tested.count(ParentOf(path)) > 0) left.insert(path);
  }
  for (const std::string& path : left) {
    complaints.Add(evidence.run.end(), {}, path, " is left, though nobody uses it any more");
    Violation& complaint = complaints.violations().back();
    for (const Attempt* attempt : evidence.run.grants()) {
      if (attempt->grant->node != path) continue;
      complaint.what += absl::StrCat(": it is of ", NameOf(*attempt));
      complaint.events.push_back(*attempt->grant);
    }
  }
}

// ---- recovery ----------------------------------------------------------------------------------

// Another fault is on at some moment of the span.
bool Disturbed(const Chronicle& run, const FaultSpan& fault, int64_t begin, int64_t end) {
  return std::any_of(run.faults().begin(), run.faults().end(), [&](const FaultSpan& other) {
    return &other != &fault && other.begin < end && other.end > begin;
  });
}

// An attempt that waits for all of that time.
const Attempt* Waiter(const Chronicle& run, int64_t begin, int64_t end) {
  for (const ProcessLife& process : run.processes()) {
    if (process.killed < end) continue;
    for (const Attempt* attempt : process.attempts) {
      const Event* over = attempt->EndOfWait();
      if (attempt->invoke != nullptr && attempt->asked_at() <= begin &&
          (over == nullptr || over->at > end)) {
        return attempt;
      }
    }
  }
  return nullptr;
}

void Recovery(const Evidence& evidence, Complaints& complaints) {
  const Chronicle& run = evidence.run;
  for (const FaultSpan& fault : run.faults()) {
    if (fault.end == kNever) continue;
    const int64_t due = Later(fault.end, evidence.limits.recovery);
    const auto first = run.GrantsFrom(fault.end);
    if (first != run.grants().end() && (*first)->granted_at() <= due) continue;
    if (run.end() < due || Disturbed(run, fault, fault.end, due)) continue;
    const Attempt* waiter = Waiter(run, fault.end, due);
    if (waiter == nullptr) continue;
    complaints.Add(due, {waiter->invoke}, "After ", fault.name, " (", fault.target,
                   ") had ended at ", evidence.When(fault.end), " nobody was granted anything for ",
                   absl::FormatDuration(evidence.limits.recovery), ", though ", NameOf(*waiter),
                   " was waiting");
  }
}

}  // namespace

const std::vector<Rule> kRestRules = {
    {"progress", Progress},
    {"answers", Answers},
    {"orphans", Orphans},
    {"recovery", Recovery},
};

}  // namespace zkrecipes::history

// SPDX-License-Identifier: Apache-2.0
//
// Rules that must hold once there are no more faults, or none for a while.

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
  return std::ranges::any_of(beginnings,
                             [&](const std::string& b) { return absl::StartsWith(text, b); });
}

// The wait was not over in time, though its process lived. A history that ends before that says
// nothing.
bool Hangs(const Chronicle& run, const ProcessLife& process, const Attempt& attempt, int64_t due) {
  if (attempt.invoke == nullptr || process.killed < due) return false;
  if (const Event* end = attempt.EndOfWait()) return end->at > due;
  return run.end() >= due || process.ended != kNever;
}

void Progress(Case& c) {
  const Chronicle& run = c.run;
  if (run.quiet() == kNever) return;
  for (const ProcessLife& process : run.processes()) {
    for (const Attempt* attempt : process.attempts) {
      const int64_t due = Later(std::max(run.quiet(), attempt->asked_at()), c.limits.progress);
      if (!Hangs(run, process, *attempt, due)) continue;
      const Event* end = attempt->EndOfWait();
      c.Complain(std::min(due, run.end()), {attempt->invoke}, NameOf(*attempt), " waited from ",
                 c.When(attempt->asked_at()),
                 end == nullptr ? " and had no answer" : absl::StrCat(" to ", c.When(end->at)),
                 ", though there were no faults after ", c.When(run.quiet()));
    }
  }
}

// ---- answers -----------------------------------------------------------------------------------

// Beginnings of a kFailed's `detail` that are right under faults, and for attempts that begin
// later than the time of recovery after kQuiet (but for waits of less than that which time out).
const std::vector<std::string> kUnderFaults = {"CANCELLED",           "DEADLINE_EXCEEDED",
                                               "UNAVAILABLE",         "ABORTED",
                                               "FAILED_PRECONDITION", "ALREADY_EXISTS"};
const std::vector<std::string> kAtRest = {"CANCELLED", "FAILED_PRECONDITION", "ALREADY_EXISTS"};
// Answers of a Release that are right whatever is wrong (lease.h), or the recorder's own words.
const std::vector<std::string> kReleased = {"OK", "ABORTED", "CANCELLED", "DEADLINE_EXCEEDED",
                                            "by "};

void JudgeRelease(Case& c, const Attempt& attempt) {
  const Event* end = attempt.released;
  if (end == nullptr || end->detail.empty() || BeginsWithOne(end->detail, kReleased)) return;
  c.Complain(end->at, {end}, NameOf(attempt), " was released at ", c.When(end->at), " with ",
             end->detail);
}

// It was asked when nothing had been wrong for long, and did not just give up.
bool IsAtRest(const Case& c, const Attempt& attempt) {
  const absl::Duration recovery = c.limits.recovery;
  const int64_t quiet = c.run.quiet();
  if (quiet == kNever || attempt.asked_at() < Later(quiet, recovery)) return false;
  const bool patient = attempt.failed->at >= Later(attempt.asked_at(), recovery);
  return patient || !absl::StartsWith(attempt.failed->detail, "DEADLINE_EXCEEDED");
}

void Answers(Case& c) {
  for (const Attempt& attempt : c.run.attempts()) {
    JudgeRelease(c, attempt);
    const Event* failed = attempt.failed;
    if (failed == nullptr) continue;
    const bool rest = IsAtRest(c, attempt);
    if (BeginsWithOne(failed->detail, rest ? kAtRest : kUnderFaults)) continue;
    c.Complain(failed->at, {failed}, NameOf(attempt), " failed at ", c.When(failed->at),
               rest ? ", with nothing wrong: " : ": ", failed->detail);
  }
}

void Orphans(Case& c) {
  if (!c.limits.left.has_value()) return;
  std::set<std::string> tested;
  for (const Attempt& attempt : c.run.attempts()) tested.insert(attempt.path);
  std::set<std::string> left(c.limits.left->begin(), c.limits.left->end());
  for (const auto& [path, nodes] : c.log.nodes()) {
    const bool there = nodes.back().life->gone_zxid == 0;
    if (there && tested.count(ParentOf(path)) > 0) left.insert(path);
  }
  for (const std::string& path : left) {
    c.Complain(c.run.end(), {}, path, " is left, though nobody uses it any more");
    Violation& complaint = c.violations.back();
    for (const Attempt* attempt : c.run.grants()) {
      if (attempt->grant->node != path) continue;
      complaint.what += absl::StrCat(": it is of ", NameOf(*attempt));
      complaint.events.push_back(*attempt->grant);
    }
  }
}

// ---- recovery ----------------------------------------------------------------------------------

// Another fault is on at some moment of the span.
bool Disturbed(const Chronicle& run, const FaultSpan& fault, int64_t begin, int64_t end) {
  return std::ranges::any_of(run.faults(), [&](const FaultSpan& other) {
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

void Recovery(Case& c) {
  const Chronicle& run = c.run;
  for (const FaultSpan& fault : run.faults()) {
    if (fault.end == kNever) continue;
    const int64_t due = Later(fault.end, c.limits.recovery);
    const auto first = run.GrantsFrom(fault.end);
    if (first != run.grants().end() && (*first)->granted_at() <= due) continue;
    if (run.end() < due || Disturbed(run, fault, fault.end, due)) continue;
    const Attempt* waiter = Waiter(run, fault.end, due);
    if (waiter == nullptr) continue;
    c.Complain(due, {waiter->invoke}, "After ", fault.name, " (", fault.target, ") had ended at ",
               c.When(fault.end), " nobody was granted anything for ",
               absl::FormatDuration(c.limits.recovery), ", though ", NameOf(*waiter),
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

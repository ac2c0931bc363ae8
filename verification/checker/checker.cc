// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/checker.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "verification/checker/rule.h"

namespace zkrecipes::history {
namespace {

// The longest time from one of `times` to the next within a span, its ends taken for times too.
absl::Duration LongestGap(const std::vector<int64_t>& times, int64_t begin, int64_t end) {
  int64_t longest = 0;
  int64_t last = begin;
  for (auto it = std::lower_bound(times.begin(), times.end(), begin);
       it != times.end() && *it <= end; ++it) {
    longest = std::max(longest, *it - last);
    last = *it;
  }
  return absl::Nanoseconds(std::max(longest, end - last));
}

// `grants`: their times.
FaultFigures FiguresOfFault(const Chronicle& run, const std::vector<int64_t>& grants,
                            const FaultSpan& fault) {
  // The first fault after this one's end.
  const auto next = std::ranges::lower_bound(run.faults(), fault.end, {}, &FaultSpan::begin);
  const bool last = next == run.faults().end();
  const int64_t quiet = std::min(run.quiet(), run.end());
  const int64_t until = last ? std::max(quiet, fault.begin) : next->begin;
  FaultFigures figures{.name = fault.name,
                       .target = fault.target,
                       .begin = fault.begin,
                       .end = std::min(fault.end, run.end())};
  const auto begin = std::lower_bound(grants.begin(), grants.end(), fault.begin);
  const auto end = std::upper_bound(begin, grants.end(), until);
  figures.grants = end - begin;
  figures.longest_without_grant = LongestGap(grants, fault.begin, until);
  // The first grant is worth knowing beyond kQuiet, too.
  const auto first = std::lower_bound(begin, grants.end(), figures.end);
  if (first != grants.end() && (last || *first <= until)) {
    figures.first_grant = absl::Nanoseconds(*first - figures.end);
  }
  return figures;
}

Figures FiguresOf(const Chronicle& run) {
  std::vector<int64_t> grants;
  for (const Attempt* attempt : run.grants()) grants.push_back(attempt->granted_at());
  Figures figures{.grants = static_cast<int64_t>(grants.size())};
  for (const Event& event : run.events()) {
    if (event.what == Event::What::kLost) ++figures.losses;
    if (event.what != Event::What::kWrite) continue;
    ++(event.accepted ? figures.writes_accepted : figures.writes_refused);
  }
  if (!grants.empty()) {
    const int64_t end = run.quiet() == kNever ? grants.back() : run.quiet();
    figures.longest_without_grant =
        LongestGap(grants, grants.front(), std::max(grants.front(), end));
  }
  for (const FaultSpan& fault : run.faults()) {
    figures.faults.push_back(FiguresOfFault(run, grants, fault));
  }
  return figures;
}

}  // namespace

Verdict Check(std::vector<Event> events, const std::vector<Transaction>& transactions,
              const Limits& limits) {
  const Chronicle run(std::move(events));
  const QueueLog log(transactions);
  Case judged{run, log, limits};
  for (const std::vector<Rule>* rules : {&kOrderRules, &kLeaseRules, &kRestRules}) {
    for (const Rule& rule : *rules) {
      judged.rule = rule.name;
      rule.apply(judged);
    }
  }
  Verdict verdict{.violations = std::move(judged.violations), .figures = FiguresOf(run)};
  verdict.figures.transactions = static_cast<int64_t>(transactions.size());
  std::ranges::stable_sort(verdict.violations, {}, &Violation::at);
  return verdict;
}

}  // namespace zkrecipes::history

// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/checker.h"

#include <algorithm>
#include <utility>

#include "verification/checker/rule.h"

namespace zkrecipes::history {
Verdict Check(std::vector<Event> events, const std::vector<Transaction>& transactions,
              const Limits& limits) {
  const Chronicle run(std::move(events));
  const std::vector<NodeLife> lives = LivesOf(transactions);
  const QueueLog log(lives);
  Complaints complaints;
  for (const std::vector<Rule>* rules : {&kOrderRules, &kLeaseRules, &kRestRules}) {
    for (const Rule& rule : *rules) complaints.Apply(rule, {run, log, limits});
  }
  Verdict verdict{.violations = std::move(complaints.violations()), .figures = FiguresOf(run)};
  verdict.figures.transactions = static_cast<int64_t>(transactions.size());
  std::ranges::stable_sort(verdict.violations, {}, &Violation::at);
  return verdict;
}

}  // namespace zkrecipes::history

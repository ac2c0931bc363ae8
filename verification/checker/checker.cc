// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/checker.h"

#include <algorithm>
#include <utility>

#include "verification/checker/rule.h"

namespace zkrecipes::history {
namespace {

struct NamedRule {
  const char* name;
  Complaints (*apply)(const Evidence& evidence);
};

constexpr NamedRule kRules[] = {
    {"zookeeper_order", ZooKeeperOrder},
    {"believers", Believers},
    {"held_twice", HeldTwice},
    {"held_after_lost", HeldAfterLost},
    {"token_order", TokenOrder},
    {"token_twice", TokenTwice},
    {"fifo", Fifo},
    {"lock_delay", LockDelay},
    {"stale_write", StaleWrite},
    {"progress", Progress},
    {"answers", Answers},
    {"orphans", Orphans},
    {"recovery", Recovery},
};

}  // namespace

Verdict Check(std::vector<Event> events, const std::vector<Transaction>& transactions,
              const Limits& limits) {
  const Story story(std::move(events));
  const std::vector<NodeLife> lives = LivesOf(transactions);
  const QueueLog log(lives);
  const Evidence evidence{story, log, limits};
  Verdict verdict{.figures = FiguresOf(evidence)};
  verdict.figures.transactions = static_cast<int64_t>(transactions.size());
  for (const NamedRule& rule : kRules) {
    for (Violation& violation : rule.apply(evidence)) {
      violation.rule = rule.name;
      verdict.violations.push_back(std::move(violation));
    }
  }
  std::stable_sort(verdict.violations.begin(), verdict.violations.end(),
                   [](const Violation& a, const Violation& b) { return a.at < b.at; });
  return verdict;
}

}  // namespace zkrecipes::history

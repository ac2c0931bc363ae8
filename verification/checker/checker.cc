// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/checker.h"

#include <algorithm>
#include <utility>

#include "verification/checker/rule.h"

namespace zkrecipes::history {
namespace {

struct NamedRule {
  const char* name;
  void (*apply)(const Evidence& evidence, Complaints& complaints);
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
  const Chronicle run(std::move(events));
  const std::vector<NodeLife> lives = LivesOf(transactions);
  const QueueLog log(lives);
  Complaints complaints;
  for (const NamedRule& rule : kRules) {
    complaints.Name(rule.name);
    rule.apply({run, log, limits}, complaints);
  }
  Verdict verdict{.violations = std::move(complaints.violations()), .figures = FiguresOf(run)};
  verdict.figures.transactions = static_cast<int64_t>(transactions.size());
  std::ranges::stable_sort(verdict.violations, {}, &Violation::at);
  return verdict;
}

}  // namespace zkrecipes::history

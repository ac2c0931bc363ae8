// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_CHECKER_RULE_H_
#define ZKRECIPES_VERIFICATION_CHECKER_RULE_H_

#include <cstdint>
#include <vector>

#include "verification/checker/checker.h"
#include "verification/checker/queue_log.h"
#include "verification/checker/story.h"

namespace zkrecipes::history {

struct Evidence {
  const Story& story;
  const QueueLog& log;
  const Limits& limits;
};

// What is wrong, each with the events that it rests on; the rule's name is filled in by who asks.
using Complaints = std::vector<Violation>;

// One each for the names in checker.h.
Complaints ZooKeeperOrder(const Evidence& evidence);
Complaints Believers(const Evidence& evidence);
Complaints HeldTwice(const Evidence& evidence);
Complaints HeldAfterLost(const Evidence& evidence);
Complaints TokenOrder(const Evidence& evidence);
Complaints TokenTwice(const Evidence& evidence);
Complaints Fifo(const Evidence& evidence);
Complaints LockDelay(const Evidence& evidence);
Complaints StaleWrite(const Evidence& evidence);
Complaints Progress(const Evidence& evidence);
Complaints Answers(const Evidence& evidence);
Complaints Orphans(const Evidence& evidence);
Complaints Recovery(const Evidence& evidence);

Figures FiguresOf(const Evidence& evidence);

// When each grant was heard of, by time.
std::vector<int64_t> GrantTimes(const Story& story);

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_CHECKER_RULE_H_

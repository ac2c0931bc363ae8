// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_CHECKER_RULE_H_
#define ZKRECIPES_VERIFICATION_CHECKER_RULE_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "verification/checker/checker.h"
#include "verification/checker/chronicle.h"
#include "verification/checker/queue_log.h"

namespace zkrecipes::history {

// How far the servers' clock less CLOCK_BOOTTIME may be off, and the times of transactions: those
// are whole milliseconds.
inline constexpr absl::Duration kRounding = absl::Milliseconds(5);

// The run that a rule judges, and its complaints.
struct Case {
  const Chronicle& run;
  const QueueLog& log;
  const Limits& limits;
  const char* rule = "";  // that is being applied
  std::vector<Violation> violations = {};

  // Adds a violation: a sentence in parts for absl::StrCat, and the events that show it.
  template <typename... Parts>
  void Complain(int64_t at, std::initializer_list<const Event*> events, const Parts&... what) {
    Violation& violation = violations.emplace_back(Violation{rule, absl::StrCat(what...), at});
    for (const Event* event : events) violation.events.push_back(*event);
  }
  // Since the run began: "12.345 s".
  std::string When(int64_t at) const { return history::When(run, at); }
  // "w3's attempt 7 (...) was granted at 12.345 s".
  std::string NameOfGrant(const Attempt& attempt) const {
    return absl::StrCat(NameOf(attempt), " was granted at ", When(attempt.granted_at()));
  }
};

struct Rule {
  const char* name;  // see checker.h
  void (*apply)(Case& c);
};

extern const std::vector<Rule> kOrderRules;
extern const std::vector<Rule> kLeaseRules;
extern const std::vector<Rule> kRestRules;

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_CHECKER_RULE_H_

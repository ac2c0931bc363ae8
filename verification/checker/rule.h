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

struct Evidence {
  const Chronicle& run;
  const QueueLog& log;
  const Limits& limits;

  // Since the run began: "12.345 s".
  std::string When(int64_t at) const { return history::When(run, at); }
};

class Complaints;
struct Rule {
  const char* name;  // see checker.h
  void (*apply)(const Evidence& evidence, Complaints& complaints);
};

class Complaints {
 public:
  // What is wrong, in parts as absl::StrCat takes them, and the events that show it.
  template <typename... Parts>
  void Add(int64_t at, std::initializer_list<const Event*> events, const Parts&... what) {
    Violation& violation = violations_.emplace_back();
    violation.rule = rule_;
    violation.what = absl::StrCat(what...);
    violation.at = at;
    for (const Event* event : events) violation.events.push_back(*event);
  }

  void Apply(const Rule& rule, const Evidence& evidence) {
    rule_ = rule.name;
    rule.apply(evidence, *this);
  }
  std::vector<Violation>& violations() { return violations_; }

 private:
  const char* rule_ = "";
  std::vector<Violation> violations_;
};

extern const std::vector<Rule> kOrderRules;
extern const std::vector<Rule> kLeaseRules;
extern const std::vector<Rule> kRestRules;

Figures FiguresOf(const Chronicle& run);

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_CHECKER_RULE_H_

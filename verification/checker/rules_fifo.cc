// SPDX-License-Identifier: Apache-2.0

#include <map>

#include "absl/strings/str_cat.h"

#include "verification/checker/rule.h"

namespace zkrecipes::history {
namespace {

struct Granted {
  const Attempt* attempt = nullptr;
  int32_t number = 0;
};

// The highest numbers of one line that were granted so far.
struct Highest {
  Granted any;
  Granted writer;

  void Add(const Attempt& attempt, const Contender& node) {
    Raise(any, attempt, node);
    if (!node.reader) Raise(writer, attempt, node);
  }

 private:
  static void Raise(Granted& highest, const Attempt& attempt, const Contender& node) {
    if (highest.attempt != nullptr && highest.number >= node.number) return;
    highest = {&attempt, node.number};
  }
};

}  // namespace

Complaints Fifo(const Evidence& evidence) {
  Complaints complaints;
  std::map<const QueueLog::Line*, Highest> lines;
  for (const auto& [path, grants] : evidence.story.grants()) {
    for (const Attempt* attempt : grants) {
      const Contender* node = evidence.log.Find(*attempt);
      if (node == nullptr) continue;
      Highest& highest = lines[&evidence.log.LineOf(*node)];
      const Granted before = node->reader ? highest.writer : highest.any;
      highest.Add(*attempt, *node);
      if (before.attempt == nullptr || before.number <= node->number) continue;
      if (!attempt->sure()) continue;  // heard of late, it may be the older one
      complaints.push_back(
          {.what = absl::StrCat(NameOf(*attempt), " stood in front of ", NameOf(*before.attempt),
                                ", but was granted after it, at ",
                                When(evidence.story, attempt->granted_at())),
           .at = attempt->granted_at(),
           .events = {*before.attempt->grant, *attempt->grant}});
    }
  }
  return complaints;
}

}  // namespace zkrecipes::history

// SPDX-License-Identifier: Apache-2.0
//
// The grants against ZooKeeper's own log.

#include <utility>

#include "absl/strings/str_cat.h"

#include "verification/checker/rule.h"

namespace zkrecipes::history {
namespace {

// One grant against the log.
class Trial {
 public:
  Trial(const Evidence& evidence, const Attempt& attempt)
      : evidence_(evidence), attempt_(attempt) {}

  Complaints Judge() {
    const Contender* mine = evidence_.log.Find(attempt_);
    if (mine == nullptr) {
      Complain(absl::StrCat("was granted by ", attempt_.grant->node,
                            ", which no transaction with that token created"));
    } else {
      JudgeNode(*mine);
      JudgeQueue(*mine);
    }
    return std::move(complaints_);
  }

 private:
  void JudgeNode(const Contender& mine) {
    if (attempt_.grant->session != 0 && mine.life->session != attempt_.grant->session) {
      Complain(absl::StrCat("was granted by the node of another session, ", mine.life->session));
    }
    if (mine.life->created_ms > latest_ms()) {
      Complain("was granted before its node was created, or the clocks do not agree");
    }
    if (attempt_.IsDowngrade() && attempt_.from->granted() &&
        attempt_.from->token() != attempt_.token()) {
      Complain(
          absl::StrCat("has not the token of the writer that it was, ", NameOf(*attempt_.from)));
    }
  }

  void JudgeQueue(const Contender& mine) {
    const QueueLog::Line& line = evidence_.log.LineOf(mine);
    for (auto it = line.rbegin(); it != line.rend() && it->all_gone_ms > latest_ms(); ++it) {
      if (!InTheWay(*it, mine)) continue;
      Complain(
          absl::StrCat("was granted behind ", it->life->path, ", which ",
                       it->life->gone_zxid == 0
                           ? "was never deleted"
                           : absl::StrCat("was there until transaction ", it->life->gone_zxid, ", ",
                                          it->life->gone_ms - latest_ms(), " ms later")));
    }
  }

  bool InTheWay(const Contender& other, const Contender& mine) const {
    if (other.number >= mine.number || (other.reader && mine.reader)) return false;
    if (other.life->created_ms > latest_ms() || GoneMs(*other.life) <= latest_ms()) return false;
    // What an upgrade goes on from stands in front of it.
    const Attempt* from = attempt_.from;
    return from == nullptr || !from->granted() || from->grant->node != other.life->path;
  }

  // The leader's clock when the grant was heard of: no transaction that led to it is later.
  int64_t latest_ms() const {
    return absl::ToInt64Milliseconds(absl::Nanoseconds(attempt_.granted_at()) +
                                     evidence_.limits.wall_less_boot + evidence_.limits.rounding);
  }

  void Complain(const std::string& what) {
    complaints_.push_back(
        {.what = absl::StrCat(NameOf(attempt_), ", at ",
                              When(evidence_.story, attempt_.granted_at()), ", ", what),
         .at = attempt_.granted_at(),
         .events = {*attempt_.grant}});
  }

  const Evidence& evidence_;
  const Attempt& attempt_;
  Complaints complaints_;
};

}  // namespace

Complaints ZooKeeperOrder(const Evidence& evidence) {
  Complaints complaints;
  for (const auto& [path, grants] : evidence.story.grants()) {
    for (const Attempt* attempt : grants) {
      if (attempt->token() < evidence.log.first_zxid()) continue;
      for (Violation& complaint : Trial(evidence, *attempt).Judge()) {
        complaints.push_back(std::move(complaint));
      }
    }
  }
  return complaints;
}

}  // namespace zkrecipes::history

// SPDX-License-Identifier: Apache-2.0
//
// Grants and writes against each other's order, and against that of ZooKeeper's own log.

#include <map>
#include <string>

#include "verification/checker/rule.h"

namespace zkrecipes::history {
namespace {

// Those of a kind so far that have the largest key: of all, and of the exclusive ones.
template <typename T>
class Largest {
 public:
  // What `item` comes too late behind: an exclusive one, or one that is exclusive itself, with a larger
  // key. Null if there is none.
  const T* Overtaking(int64_t key, bool exclusive) const {
    const Keyed& limit = exclusive ? any_ : exclusive_;
    return limit.item != nullptr && key < limit.key ? limit.item : nullptr;
  }
  void Add(const T& item, int64_t key, bool exclusive) {
    Raise(any_, item, key);
    if (exclusive) Raise(exclusive_, item, key);
  }

 private:
  struct Keyed {
    const T* item = nullptr;
    int64_t key = 0;
  };
  static void Raise(Keyed& largest, const T& item, int64_t key) {
    if (largest.item == nullptr || key > largest.key) largest = {&item, key};
  }

  Keyed any_;
  Keyed exclusive_;
};

bool IsDowngradeOf(const Attempt& later, const Attempt& earlier) {
  return later.from == &earlier && later.IsDowngrade();
}

std::string NameOfWrite(const Event& write) {
  return absl::StrCat(write.who, "'s ",
                      write.mode == Event::Mode::kExclusive ? "exclusive" : "shared", " write ",
                      write.order, " to ", write.path, " with token ", write.token);
}

void TokenOrder(const Evidence& evidence, Complaints& complaints) {
  std::map<std::string, Largest<Attempt>> paths;
  for (const Attempt* attempt : evidence.run.grants()) {
    Largest<Attempt>& largest = paths[attempt->path];
    const Attempt* before = largest.Overtaking(attempt->token(), attempt->exclusive());
    largest.Add(*attempt, attempt->token(), attempt->exclusive());
    // A grant that was heard of late may rightly be the older one.
    if (before == nullptr || !attempt->sure()) continue;
    complaints.Add(attempt->granted_at(), {before->grant, attempt->grant}, NameOf(*attempt),
                   " was granted at ", evidence.When(attempt->granted_at()),
                   " with a smaller token than ", NameOf(*before), " before, at ",
                   evidence.When(before->granted_at()));
  }
}

void TokenTwice(const Evidence& evidence, Complaints& complaints) {
  std::map<int64_t, const Attempt*> seen;
  for (const Attempt* attempt : evidence.run.grants()) {
    const auto [found, is_new] = seen.emplace(attempt->token(), attempt);
    const Attempt& first = *found->second;
    if (is_new || IsDowngradeOf(*attempt, first) || IsDowngradeOf(first, *attempt)) continue;
    complaints.Add(attempt->granted_at(), {first.grant, attempt->grant}, NameOf(*attempt),
                   " has the token of ", NameOf(first));
  }
}

void Fifo(const Evidence& evidence, Complaints& complaints) {
  std::map<const QueueLog::Line*, Largest<Attempt>> lines;
  for (const Attempt* attempt : evidence.run.grants()) {
    const QueuedNode* node = evidence.log.Find(*attempt);
    if (node == nullptr) continue;
    Largest<Attempt>& largest = lines[&evidence.log.LineOf(*node)];
    const Attempt* before = largest.Overtaking(node->number, !node->reader);
    largest.Add(*attempt, node->number, !node->reader);
    if (before == nullptr || !attempt->sure()) continue;
    complaints.Add(attempt->granted_at(), {before->grant, attempt->grant}, NameOf(*attempt),
                   " stood in front of ", NameOf(*before), ", but was granted after it, at ",
                   evidence.When(attempt->granted_at()));
  }
}

void StaleWrite(const Evidence& evidence, Complaints& complaints) {
  std::map<int64_t, const Event*> accepted;  // in the resource's order
  for (const Event& event : evidence.run.events()) {
    if (event.what == Event::What::kWrite && event.accepted) accepted.emplace(event.order, &event);
  }
  std::map<std::string, Largest<Event>> paths;
  for (const auto& [order, write] : accepted) {
    Largest<Event>& largest = paths[write->path];
    const bool exclusive = write->mode == Event::Mode::kExclusive;
    const Event* before = largest.Overtaking(write->token, exclusive);
    if (before == nullptr) {
      largest.Add(*write, write->token, exclusive);
      continue;
    }
    complaints.Add(write->at, {before, write}, NameOfWrite(*write), " was accepted at ",
                   evidence.When(write->at), ", behind ", NameOfWrite(*before));
  }
}

// ---- ZooKeeper's log ---------------------------------------------------------------------------

// One grant against the log.
class GrantInLog {
 public:
  GrantInLog(const Evidence& evidence, const Attempt& attempt, Complaints& complaints)
      : evidence_(evidence), attempt_(attempt), complaints_(complaints) {}

  void Judge() {
    const QueuedNode* mine = evidence_.log.Find(attempt_);
    if (mine == nullptr) {
      return Complain("was granted by ", attempt_.grant->node,
                      ", which no transaction with that token created");
    }
    JudgeNode(*mine);
    const QueueLog::Line& line = evidence_.log.LineOf(*mine);
    for (auto it = line.rbegin(); it != line.rend() && it->all_gone_ms > latest_ms(); ++it) {
      if (InTheWay(*it, *mine)) ComplainOf(*it->life);
    }
  }

 private:
  void JudgeNode(const QueuedNode& mine) {
    if (attempt_.grant->session != 0 && mine.life->session != attempt_.grant->session) {
      Complain("was granted by the node of another session, ", mine.life->session);
    }
    if (mine.life->created_ms > latest_ms()) {
      Complain("was granted before its node was created, or the clocks do not agree");
    }
    if (attempt_.IsDowngrade() && attempt_.from->granted() &&
        attempt_.from->token() != attempt_.token()) {
      Complain("has not the token of the writer that it was, ", NameOf(*attempt_.from));
    }
  }

  bool InTheWay(const QueuedNode& other, const QueuedNode& mine) const {
    if (other.number >= mine.number || (other.reader && mine.reader)) return false;
    if (other.life->created_ms > latest_ms() || GoneMs(*other.life) <= latest_ms()) return false;
    // What an upgrade goes on from stands in front of it.
    const Attempt* from = attempt_.from;
    return from == nullptr || !from->granted() || from->grant->node != other.life->path;
  }

  void ComplainOf(const NodeLife& other) {
    if (other.gone_zxid == 0) {
      return Complain("was granted behind ", other.path, ", which was never deleted");
    }
    Complain("was granted behind ", other.path, ", which was there until transaction ",
             other.gone_zxid, ", ", other.gone_ms - latest_ms(), " ms later");
  }

  // The leader's clock when the grant was heard of: no transaction that led to it is later.
  int64_t latest_ms() const {
    return absl::ToInt64Milliseconds(absl::Nanoseconds(attempt_.granted_at()) +
                                     evidence_.limits.wall_less_boot + evidence_.limits.rounding);
  }

  template <typename... Parts>
  void Complain(const Parts&... what) {
    complaints_.Add(attempt_.granted_at(), {attempt_.grant}, NameOf(attempt_), ", at ",
                    evidence_.When(attempt_.granted_at()), ", ", what...);
  }

  const Evidence& evidence_;
  const Attempt& attempt_;
  Complaints& complaints_;
};

void ZooKeeperOrder(const Evidence& evidence, Complaints& complaints) {
  for (const Attempt* attempt : evidence.run.grants()) {
    if (attempt->token() < evidence.log.first_zxid()) continue;
    GrantInLog(evidence, *attempt, complaints).Judge();
  }
}

}  // namespace

const std::vector<Rule> kOrderRules = {
    {"zookeeper_order", ZooKeeperOrder}, {"token_order", TokenOrder},
    {"token_twice", TokenTwice},         {"fifo", Fifo},
    {"stale_write", StaleWrite},
};

}  // namespace zkrecipes::history

// SPDX-License-Identifier: Apache-2.0
//
// Grants and writes against each other's order, and against that of ZooKeeper's own log.

#include <cstdint>
#include <map>
#include <string>

#include "verification/checker/rule.h"

namespace zkrecipes::history {
namespace {

// Those of a kind so far that have the largest key: of all, and of the exclusive ones.
template <typename T>
class Largest {
 public:
  // The item with the largest key, if an item with this key comes too late behind it: of all if
  // that one is exclusive, else of the exclusive ones. Null if there is none.
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

void TokenOrder(Case& c) {
  std::map<std::string, Largest<Attempt>> paths;
  for (const Attempt* attempt : c.run.grants()) {
    Largest<Attempt>& largest = paths[attempt->path];
    const Attempt* before = largest.Overtaking(attempt->token(), attempt->exclusive());
    largest.Add(*attempt, attempt->token(), attempt->exclusive());
    // A grant that was heard of late may rightly be the older one.
    if (before == nullptr || !attempt->sure()) continue;
    c.Complain(attempt->granted_at(), {before->grant, attempt->grant}, c.NameOfGrant(*attempt),
               " with a smaller token, after ", c.NameOfGrant(*before));
  }
}

void TokenTwice(Case& c) {
  std::map<int64_t, const Attempt*> seen;
  for (const Attempt* attempt : c.run.grants()) {
    const auto [found, is_new] = seen.emplace(attempt->token(), attempt);
    const Attempt& first = *found->second;
    if (is_new || IsDowngradeOf(*attempt, first) || IsDowngradeOf(first, *attempt)) continue;
    c.Complain(attempt->granted_at(), {first.grant, attempt->grant}, NameOf(*attempt),
               " has the token of ", NameOf(first));
  }
}

void Fifo(Case& c) {
  std::map<const QueueLog::Line*, Largest<Attempt>> lines;
  for (const Attempt* attempt : c.run.grants()) {
    const QueuedNode* node = c.log.Find(*attempt);
    if (node == nullptr) continue;
    Largest<Attempt>& largest = lines[&c.log.LineOf(*node)];
    const Attempt* before = largest.Overtaking(node->number, !node->reader);
    largest.Add(*attempt, node->number, !node->reader);
    if (before == nullptr || !attempt->sure()) continue;
    c.Complain(attempt->granted_at(), {before->grant, attempt->grant}, NameOf(*attempt),
               " stood in front of ", NameOf(*before), ", but was granted after it, at ",
               c.When(attempt->granted_at()));
  }
}

void StaleWrite(Case& c) {
  std::map<int64_t, const Event*> accepted;  // in the resource's order
  for (const Event& event : c.run.events()) {
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
    c.Complain(write->at, {before, write}, NameOfWrite(*write), " was accepted at ",
               c.When(write->at), ", behind ", NameOfWrite(*before));
  }
}

// ---- ZooKeeper's log ---------------------------------------------------------------------------

// The leader's clock when the grant was heard of: no transaction that led to it is later.
int64_t LatestMs(const Case& c, const Attempt& attempt) {
  return absl::ToInt64Milliseconds(absl::Nanoseconds(attempt.granted_at()) +
                                   c.limits.wall_less_boot + kRounding);
}

template <typename... Parts>
void ComplainOf(Case& c, const Attempt& attempt, const Parts&... what) {
  c.Complain(attempt.granted_at(), {attempt.grant}, NameOf(attempt), ", at ",
             c.When(attempt.granted_at()), ", ", what...);
}

void JudgeNode(Case& c, const Attempt& attempt, const NodeLife& mine) {
  if (attempt.grant->session != 0 && mine.session != attempt.grant->session) {
    ComplainOf(c, attempt, "was granted by the node of another session, ", mine.session);
  }
  if (mine.created_ms > LatestMs(c, attempt)) {
    ComplainOf(c, attempt, "was granted before its node was created, or the clocks do not agree");
  }
  if (attempt.IsDowngrade() && attempt.from->granted() &&
      attempt.from->token() != attempt.token()) {
    ComplainOf(c, attempt, "has not the token of the writer that it was, ", NameOf(*attempt.from));
  }
}

void JudgeLine(Case& c, const Attempt& attempt, const QueuedNode& mine) {
  const int64_t latest_ms = LatestMs(c, attempt);
  const QueueLog::Line& line = c.log.LineOf(mine);
  for (auto it = line.rbegin(); it != line.rend() && it->all_gone_ms > latest_ms; ++it) {
    const NodeLife& other = *it->life;
    if (it->number >= mine.number || (it->reader && mine.reader)) continue;
    if (other.created_ms > latest_ms || other.gone_ms <= latest_ms) continue;
    // The node that an upgrade goes on from stands in front of it.
    const Attempt* from = attempt.from;
    if (from != nullptr && from->granted() && from->grant->node == other.path) continue;
    const std::string until = other.gone_zxid == 0
                                  ? "never deleted"
                                  : absl::StrCat("there until transaction ", other.gone_zxid, ", ",
                                                 other.gone_ms - latest_ms, " ms later");
    ComplainOf(c, attempt, "was granted behind ", other.path, ", which was ", until);
  }
}

void ZooKeeperOrder(Case& c) {
  for (const Attempt* attempt : c.run.grants()) {
    // Grants from before the log begins are not held against it.
    const std::vector<NodeLife>& lives = c.log.lives();
    if (lives.empty() || attempt->token() < lives.front().czxid) continue;
    if (const QueuedNode* mine = c.log.Find(*attempt)) {
      JudgeNode(c, *attempt, *mine->life);
      JudgeLine(c, *attempt, *mine);
    } else {
      ComplainOf(c, *attempt, "was granted by ", attempt->grant->node,
                 ", which no transaction with that token created");
    }
  }
}

}  // namespace

const std::vector<Rule> kOrderRules = {
    {"zookeeper_order", ZooKeeperOrder}, {"token_order", TokenOrder},
    {"token_twice", TokenTwice},         {"fifo", Fifo},
    {"stale_write", StaleWrite},
};

}  // namespace zkrecipes::history

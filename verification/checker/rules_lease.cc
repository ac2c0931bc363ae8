// SPDX-License-Identifier: Apache-2.0
//
// What leases promise, and what their holders believe.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "verification/checker/rule.h"

namespace zkrecipes::history {
namespace {

// Calls `visit` with each grant that conflicts with `a` and was heard of from a's own until that time.
template <typename Visit>
void ForConflicting(const Evidence& evidence, const Attempt& a, int64_t until, Visit visit) {
  for (auto it = evidence.run.GrantsFrom(a.granted_at());
       it != evidence.run.grants().end() && (*it)->granted_at() < until; ++it) {
    if (Conflict(a, **it)) visit(**it);
  }
}

const Event& LastPromise(const Attempt& attempt) {
  const Event* last = attempt.grant;
  for (const Event* belief : attempt.beliefs) {
    if (belief->until > last->until) last = belief;
  }
  return *last;
}

struct Look {
  const Event* belief = nullptr;
  int64_t after = 0;  // not earlier than that; 0: the attempt never looked
};

// The earliest moment at which the process can have looked: a record may be written long after, if
// the process was stopped in between, but not before the same thread's last one.
int64_t LookedAfter(const Attempt& attempt, std::size_t belief) {
  if (belief > 0) return attempt.beliefs[belief - 1]->at;
  return attempt.granted() ? attempt.granted_at() : attempt.asked_at();
}

// The last look that found the lease believed.
Look LastBelief(const Attempt& attempt) {
  for (std::size_t i = attempt.beliefs.size(); i > 0; --i) {
    const Event* belief = attempt.beliefs[i - 1];
    if (belief->state != "held" && belief->state != "suspect") continue;
    return {belief, LookedAfter(attempt, i - 1)};
  }
  return {};
}

void Believers(const Evidence& evidence, Complaints& complaints) {
  for (const Attempt* a : evidence.run.grants()) {
    ForConflicting(evidence, *a, a->ProvenUntil(), [&](const Attempt& b) {
      if (b.granted_after() < a->granted_at()) return;
      const Event& promise = LastPromise(*a);
      complaints.Add(b.granted_at(), {&promise, b.grant}, NameOf(b), " was granted at ",
                     evidence.When(b.granted_at()), ", though ", NameOf(*a),
                     " had been told that nobody would be before ", evidence.When(promise.until));
    });
  }
}

void HeldTwice(const Evidence& evidence, Complaints& complaints) {
  for (const Attempt* a : evidence.run.grants()) {
    const Look look = LastBelief(*a);
    ForConflicting(evidence, *a, look.after, [&](const Attempt& b) {
      if (b.token() < a->token()) return;
      complaints.Add(look.belief->at, {b.grant, look.belief}, NameOf(*a), " was seen ",
                     look.belief->state, " at ", evidence.When(look.belief->at),
                     ", after the grant to ", NameOf(b), " at ", evidence.When(b.granted_at()));
    });
  }
}

void HeldAfterLost(const Evidence& evidence, Complaints& complaints) {
  for (const Attempt& attempt : evidence.run.attempts()) {
    const Look look = LastBelief(attempt);
    if (attempt.lost == nullptr || look.after <= attempt.lost->at) continue;
    complaints.Add(look.belief->at, {attempt.lost, look.belief}, NameOf(attempt), " was seen ",
                   look.belief->state, " at ", evidence.When(look.belief->at),
                   ", though lost() had fired at ", evidence.When(attempt.lost->at));
  }
}

// ---- lock delays -------------------------------------------------------------------------------

// When the attempt's node went without having been released, at the earliest. kNever: it did not.
int64_t VanishedAt(const Attempt& attempt, const Evidence& evidence) {
  const QueuedNode* node = evidence.log.Find(attempt);
  if (node == nullptr || node->life->gone_zxid == 0) return kNever;
  const Limits& limits = evidence.limits;
  const int64_t gone =
      absl::ToInt64Nanoseconds(absl::Milliseconds(node->life->gone_ms) - limits.wall_less_boot);
  const int64_t rounding = absl::ToInt64Nanoseconds(limits.rounding);
  const bool released = attempt.release != nullptr && attempt.release->at <= gone + rounding;
  return released ? kNever : gone - rounding;
}

// Of the grants with smaller tokens, the one whose node vanished last.
struct LastVanished {
  const Attempt* attempt = nullptr;
  int64_t at = 0;
};

void LockDelay(const Evidence& evidence, Complaints& complaints) {
  std::vector<const Attempt*> by_token = evidence.run.grants();
  std::stable_sort(by_token.begin(), by_token.end(),
                   [](const Attempt* a, const Attempt* b) { return a->token() < b->token(); });
  std::map<std::string, LastVanished> paths;
  for (const Attempt* attempt : by_token) {
    LastVanished& vanished = paths[attempt->path];
    const int64_t delay = attempt->grant->lock_delay;
    if (vanished.attempt != nullptr && delay > 0 && attempt->granted_at() < vanished.at + delay) {
      complaints.Add(attempt->granted_at(), {vanished.attempt->grant, attempt->grant},
                     NameOf(*attempt), " was granted at ", evidence.When(attempt->granted_at()),
                     ", though ", NameOf(*vanished.attempt), " had vanished at ",
                     evidence.When(vanished.at), ", and the lock delay is ",
                     absl::FormatDuration(absl::Nanoseconds(delay)));
    }
    const int64_t gone = VanishedAt(*attempt, evidence);
    if (gone != kNever && gone >= vanished.at) vanished = {attempt, gone};
  }
}

}  // namespace

const std::vector<Rule> kLeaseRules = {
    {"believers", Believers},
    {"held_twice", HeldTwice},
    {"held_after_lost", HeldAfterLost},
    {"lock_delay", LockDelay},
};

}  // namespace zkrecipes::history

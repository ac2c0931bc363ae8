// SPDX-License-Identifier: Apache-2.0
//
// The promises of leases, and the beliefs of their holders.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "verification/checker/rule.h"

namespace zkrecipes::history {
namespace {

// Calls `visit` with each grant that conflicts with `a` and was heard of from a's own until that
// time.
template <typename Visit>
void ForConflicting(const Case& c, const Attempt& a, int64_t until, Visit visit) {
  for (auto it = c.run.GrantsFrom(a.granted_at());
       it != c.run.grants().end() && (*it)->granted_at() < until; ++it) {
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

// The last look that found the lease believed.
struct Look {
  const Event* belief = nullptr;
  int64_t after = 0;  // not earlier than that; 0: the attempt never looked
};

// A record may be written long after the look, if the process was stopped in between, but not
// before the same thread's last record.
Look LastBelief(const Attempt& attempt) {
  Look look;
  int64_t before = attempt.granted() ? attempt.granted_at() : attempt.asked_at();
  for (const Event* belief : attempt.beliefs) {
    if (belief->state == "held" || belief->state == "suspect") look = {belief, before};
    before = belief->at;
  }
  return look;
}

void Believers(Case& c) {
  for (const Attempt* a : c.run.grants()) {
    ForConflicting(c, *a, a->ProvenUntil(), [&](const Attempt& b) {
      if (b.granted_after() < a->granted_at()) return;
      const Event& promise = LastPromise(*a);
      c.Complain(b.granted_at(), {&promise, b.grant}, c.NameOfGrant(b), ", though ", NameOf(*a),
                 " had been told that nobody would be before ", c.When(promise.until));
    });
  }
}

void HeldTwice(Case& c) {
  for (const Attempt* a : c.run.grants()) {
    const Look look = LastBelief(*a);
    ForConflicting(c, *a, look.after, [&](const Attempt& b) {
      if (b.token() < a->token()) return;
      c.Complain(look.belief->at, {b.grant, look.belief}, NameOf(*a), " was seen ",
                 look.belief->state, " at ", c.When(look.belief->at), ", after the grant to ",
                 NameOf(b), " at ", c.When(b.granted_at()));
    });
  }
}

void HeldAfterLost(Case& c) {
  for (const Attempt& attempt : c.run.attempts()) {
    const Look look = LastBelief(attempt);
    if (attempt.lost == nullptr || look.after <= attempt.lost->at) continue;
    c.Complain(look.belief->at, {attempt.lost, look.belief}, NameOf(attempt), " was seen ",
               look.belief->state, " at ", c.When(look.belief->at),
               ", though ended() had fired at ", c.When(attempt.lost->at));
  }
}

// ---- lock delays -------------------------------------------------------------------------------

// When the attempt's node went without having been released, at the earliest. kNever: it did not.
int64_t VanishedAt(const Case& c, const Attempt& attempt) {
  const QueuedNode* node = c.log.Find(attempt);
  if (node == nullptr || node->life->gone_zxid == 0) return kNever;
  const int64_t gone =
      absl::ToInt64Nanoseconds(absl::Milliseconds(node->life->gone_ms) - c.limits.wall_less_boot);
  const int64_t rounding = absl::ToInt64Nanoseconds(kRounding);
  const bool released = attempt.release != nullptr && attempt.release->at <= gone + rounding;
  return released ? kNever : gone - rounding;
}

// Of the grants with smaller tokens, the one whose node vanished last.
struct LastVanished {
  const Attempt* attempt = nullptr;
  int64_t at = 0;
};

void LockDelay(Case& c) {
  std::vector<const Attempt*> by_token = c.run.grants();
  std::ranges::stable_sort(by_token, {}, &Attempt::token);
  std::map<std::string, LastVanished> paths;
  for (const Attempt* attempt : by_token) {
    LastVanished& vanished = paths[attempt->path];
    const int64_t delay = attempt->grant->lock_delay;
    if (vanished.attempt != nullptr && delay > 0 && attempt->granted_at() < vanished.at + delay) {
      c.Complain(attempt->granted_at(), {vanished.attempt->grant, attempt->grant},
                 c.NameOfGrant(*attempt), ", though ", NameOf(*vanished.attempt),
                 " had vanished at ", c.When(vanished.at), ", and the lock delay is ",
                 absl::FormatDuration(absl::Nanoseconds(delay)));
    }
    const int64_t gone = VanishedAt(c, *attempt);
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

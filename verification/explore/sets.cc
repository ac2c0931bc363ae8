// SPDX-License-Identifier: Apache-2.0

#include "verification/explore/sets.h"

#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace zkrecipes::explore {
namespace {

using queue::Mode;
using Role = NamedSet::Role;
using enum NamedSet::Role;
using enum NamedSet::Trait;

queue::Candidacy CandidacyOf(Role role) {
  queue::Candidacy candidacy;
  candidacy.parent = role == kDeep ? "/q/r" : "/q";
  candidacy.try_only = role == kTry;
  if (role == kStrict) candidacy.lock_delay = absl::Seconds(1);
  if (role == kReader || role == kUpgrader) candidacy.mode = Mode::kShared;
  if (role == kWriter || role == kDowngrader) candidacy.mode = Mode::kSharedWriter;
  return candidacy;
}

std::optional<Mode> ThenOf(Role role) {
  if (role == kUpgrader) return Mode::kSharedWriter;
  if (role == kDowngrader) return Mode::kShared;
  return std::nullopt;
}

// The beginning of a set's stories: each client is connected, and each contestant wants the lock.
MachineWorld Begin(const NamedSet& set) {
  MachineWorld world({.servers = set.Has(kLag) ? 3 : 1,
                      .most_faults = set.most_faults,
                      .rough = set.Has(kRough),
                      .alike = set.Has(kAlike)});
  const size_t clients = set.Has(kOneClient) ? 1 : set.contestants.size();
  for (size_t i = 0; i < clients; ++i) world.AddClient();
  if (!set.Has(kNoParent)) {
    world.MakeContainer("/q", set.Has(kOverflow) ? std::numeric_limits<int32_t>::max() : 0);
  }
  world.Settle();
  for (size_t i = 0; i < set.contestants.size(); ++i) {
    world.Enter(set.Has(kOneClient) ? 0 : static_cast<int>(i), CandidacyOf(set.contestants[i]),
                ThenOf(set.contestants[i]));
  }
  return world;
}

}  // namespace

const std::vector<NamedSet>& Sets() {
  static const auto* const sets = new std::vector<NamedSet>{
      {"alone", "one contender that makes its parents", {kDeep}, 3, kNoParent},
      {"alone-try", "one that only tries", {kTry}, 3},
      {"alone-lag", "one contender", {kLock}, 2, kLag},
      {"two", "two contenders", {kLock, kLock}, 2},
      {"two-new-parent", "two contenders", {kLock, kLock}, 1, kNoParent},
      {"two-one-client", "two contenders", {kLock, kLock}, 2, kOneClient},
      {"two-try", "one contender and one that only tries", {kLock, kTry}, 1},
      {"alone-strict", "one that keeps the record of the last holder", {kStrict}, 2},
      {"two-strict", "two that keep the record of the last holder", {kStrict, kStrict}, 1},
      {"two-lag", "two contenders", {kLock, kLock}, 1, kRough | kLag},
      {"two-overflow", "two contenders", {kLock, kLock}, 1, kOverflow},
      {"reader-writer", "a reader and a writer", {kReader, kWriter}, 1},
      {"readers-one-client",
       "a writer and two readers",
       {kWriter, kReader, kReader},
       1,
       kOneClient},
      {"reader-writer-reader", "two readers and a writer", {kReader, kWriter, kReader}},
      {"upgrade", "a reader that may be upgraded and a writer", {kUpgrader, kWriter}, 1},
      {"two-upgrades", "two that may be upgraded", {kUpgrader, kUpgrader}},
      {"two-upgrades-rough", "two that may be upgraded", {kUpgrader, kUpgrader}, 1, kLong | kRough},
      {"downgrade", "a writer that may be downgraded and a writer", {kDowngrader, kWriter}, 1},
      {"downgrade-lag", "one that may be downgraded and a writer", {kDowngrader, kWriter}, 0, kLag},
      {"three-calm", "three contenders", {kLock, kLock, kLock}},
      {"three-one-client", "three contenders", {kLock, kLock, kLock}, 1, kOneClient},
      {"three", "three contenders", {kLock, kLock, kLock}, 1, kAlike},
      {"two-triples", "two contenders", {kLock, kLock}, 3, kLong | kRough | kAlike},
      {"two-lag-pairs", "two contenders", {kLock, kLock}, 2, kLong | kRough | kAlike | kLag},
  };
  return *sets;
}

bool Explore(const NamedSet& set, const Budget& budget) {
  const MachineWorld start = Begin(set);
  const absl::Time begin = absl::Now();
  const Findings found = Exhaust(start, budget);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  absl::PrintF("%-21s %9d states %9d steps %7d ends %3d deep %6.1f s  %s\n", set.name, found.states,
               found.steps, found.ends, found.deepest, seconds,
               !found.violation.empty() ? "VIOLATION"
               : found.complete         ? "complete"
                                        : "not complete");
  if (!found.violation.empty()) {
    absl::PrintF("%sVIOLATION: %s\n", Tell(start, found.story), found.violation);
  }
  std::fflush(stdout);
  return found.violation.empty();
}

bool FindViolation() {
  for (const uint64_t states : {uint64_t{100'000}, UINT64_MAX}) {
    for (const NamedSet& set : Sets()) {
      if (set.quick() && !Explore(set, {.states = states})) return true;
    }
  }
  return false;
}

}  // namespace zkrecipes::explore

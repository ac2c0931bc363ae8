// SPDX-License-Identifier: Apache-2.0

#include "verification/explore/sets.h"

#include <optional>
#include <utility>

namespace zkrecipes::explore {
namespace {

using Kind = Step::Kind;
using queue::Mode;
using enum NamedSet::Who;

queue::Candidacy SpecOf(NamedSet::Who who) {
  queue::Candidacy spec;
  spec.parent = who == kDeep ? "/q/r" : "/q";
  spec.try_only = who == kTry;
  if (who == kStrict) spec.lock_delay = absl::Seconds(1);
  if (who == kReader || who == kUpgrader) spec.mode = Mode::kShared;
  if (who == kWriter || who == kDowngrader) spec.mode = Mode::kSharedWriter;
  return spec;
}

std::optional<Mode> ThenOf(NamedSet::Who who) {
  if (who == kUpgrader) return Mode::kSharedWriter;
  if (who == kDowngrader) return Mode::kShared;
  return std::nullopt;
}

std::vector<Kind> FaultsOf(const NamedSet& set) {
  std::vector<Kind> faults = {Kind::kBreak, Kind::kExpire, Kind::kGiveUp,        Kind::kLapse,
                              Kind::kElect, Kind::kReap,   Kind::kOperatorDelete};
  if (set.rough) faults.resize(3);
  return faults;
}

std::vector<NamedSet> MakeSets() {
  return {
      {.name = "alone",
       .what = "one contender that makes its parents, three faults",
       .contestants = {kDeep},
       .most_faults = 3,
       .has_parent = false},
      {.name = "alone-try",
       .what = "one that only tries, three faults",
       .contestants = {kTry},
       .most_faults = 3},
      {.name = "alone-lag",
       .what = "one contender, servers that lag, two faults",
       .contestants = {kLock},
       .most_faults = 2,
       .servers = 3},
      {.name = "two",
       .what = "two contenders, two faults",
       .contestants = {kLock, kLock},
       .most_faults = 2},
      {.name = "two-new-parent",
       .what = "two contenders, no parent yet, one fault",
       .contestants = {kLock, kLock},
       .most_faults = 1,
       .has_parent = false},
      {.name = "two-one-client",
       .what = "two contenders in one session, two faults",
       .contestants = {kLock, kLock},
       .most_faults = 2,
       .one_client = true},
      {.name = "two-try",
       .what = "one contender and one that only tries, one fault",
       .contestants = {kLock, kTry},
       .most_faults = 1},
      {.name = "alone-strict",
       .what = "one that keeps the record of the last holder, two faults",
       .contestants = {kStrict},
       .most_faults = 2},
      {.name = "two-strict",
       .what = "two that keep the record of the last holder, one fault",
       .contestants = {kStrict, kStrict},
       .most_faults = 1},
      {.name = "two-lag",
       .what = "two contenders, servers that lag, one of: break, expire, give up",
       .contestants = {kLock, kLock},
       .most_faults = 1,
       .rough = true,
       .servers = 3},
      {.name = "two-overflow",
       .what = "two contenders at the end of the sequence numbers, one fault",
       .contestants = {kLock, kLock},
       .most_faults = 1,
       .next_sequence = INT32_MAX},
      {.name = "reader-writer",
       .what = "a reader and a writer, one fault",
       .contestants = {kReader, kWriter},
       .most_faults = 1},
      {.name = "readers-one-client",
       .what = "a writer and two readers in one session, one fault",
       .contestants = {kWriter, kReader, kReader},
       .most_faults = 1,
       .one_client = true},
      {.name = "reader-writer-reader",
       .what = "two readers and a writer, no fault",
       .contestants = {kReader, kWriter, kReader}},
      {.name = "upgrade",
       .what = "a reader that may be upgraded and a writer, one fault",
       .contestants = {kUpgrader, kWriter},
       .most_faults = 1},
      {.name = "two-upgrades",
       .what = "two readers that may be upgraded",
       .contestants = {kUpgrader, kUpgrader}},
      {.name = "two-upgrades-rough",
       .what = "the same, one of: break, expire, give up",
       .quick = false,
       .contestants = {kUpgrader, kUpgrader},
       .most_faults = 1,
       .rough = true},
      {.name = "downgrade",
       .what = "a writer that may be downgraded and a writer, one fault",
       .contestants = {kDowngrader, kWriter},
       .most_faults = 1},
      {.name = "downgrade-lag",
       .what = "the same, servers that lag",
       .contestants = {kDowngrader, kWriter},
       .servers = 3},
      {.name = "three-calm", .what = "three contenders", .contestants = {kLock, kLock, kLock}},
      {.name = "three-one-client",
       .what = "three contenders in one session, one fault",
       .contestants = {kLock, kLock, kLock},
       .most_faults = 1,
       .one_client = true},
      {.name = "three",
       .what = "three contenders, one fault",
       .contestants = {kLock, kLock, kLock},
       .most_faults = 1,
       .alike = true},
      {.name = "two-triples",
       .what = "two contenders, three of: break, expire, give up",
       .quick = false,
       .contestants = {kLock, kLock},
       .most_faults = 3,
       .rough = true,
       .alike = true},
      {.name = "two-lag-pairs",
       .what = "two contenders, servers that lag, two of: break, expire, give up",
       .quick = false,
       .contestants = {kLock, kLock},
       .most_faults = 2,
       .rough = true,
       .alike = true,
       .servers = 3},
  };
}

}  // namespace

const std::vector<NamedSet>& Sets() {
  static const auto* const sets = new std::vector<NamedSet>(MakeSets());
  return *sets;
}

MachineWorld Begin(const NamedSet& set) {
  MachineWorld world({set.servers, set.servers > 1, FaultsOf(set), set.most_faults, set.alike});
  const size_t clients = set.one_client ? 1 : set.contestants.size();
  for (size_t i = 0; i < clients; ++i) world.AddClient();
  if (set.has_parent) world.MakeContainer("/q", set.next_sequence);
  world.Settle();
  for (size_t i = 0; i < set.contestants.size(); ++i) {
    world.Enter(set.one_client ? 0 : static_cast<int>(i), SpecOf(set.contestants[i]),
                ThenOf(set.contestants[i]));
  }
  return world;
}

}  // namespace zkrecipes::explore

// SPDX-License-Identifier: Apache-2.0

#include "verification/explore/sets.h"

#include <cstdint>
#include <limits>
#include <optional>

namespace zkrecipes::explore {
namespace {

using queue::Mode;
using Role = NamedSet::Role;
using enum NamedSet::Trait;

Role RoleOf(Mode mode, std::optional<Mode> then = std::nullopt, const char* parent = "/q") {
  Role role;
  role.spec.parent = parent;
  role.spec.mode = mode;
  role.then = then;
  return role;
}

Role Trying(Role role) {
  role.spec.try_only = true;
  return role;
}

Role Strict(Role role) {
  role.spec.lock_delay = absl::Seconds(1);
  return role;
}

const Role kLock = RoleOf(Mode::kExclusive);
const Role kDeep = RoleOf(Mode::kExclusive, std::nullopt, "/q/r");
const Role kTry = Trying(kLock);
const Role kStrict = Strict(kLock);
const Role kReader = RoleOf(Mode::kShared);
const Role kWriter = RoleOf(Mode::kSharedWriter);
const Role kUpgrader = RoleOf(Mode::kShared, Mode::kSharedWriter);
const Role kDowngrader = RoleOf(Mode::kSharedWriter, Mode::kShared);

}  // namespace

// A line each: CMakeLists.txt reads it.
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
      {"readers-one-client", "a writer, two readers", {kWriter, kReader, kReader}, 1, kOneClient},
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
    const Role& role = set.contestants[i];
    world.Enter(set.Has(kOneClient) ? 0 : static_cast<int>(i), role.spec, role.then);
  }
  return world;
}

}  // namespace zkrecipes::explore

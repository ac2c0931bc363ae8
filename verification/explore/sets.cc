// SPDX-License-Identifier: Apache-2.0

#include "verification/explore/sets.h"

namespace zkrecipes::explore {
namespace {

using queue::machine::Mode;
using Role = NamedSet::Role;
using enum NamedSet::Trait;

const Role kLock{{.parent = "/q"}};
const Role kDeep{{.parent = "/q/r"}};
const Role kTry{{.try_only = true, .parent = "/q"}};
const Role kLockDelay{{.lock_delay = absl::Seconds(1), .parent = "/q"}};
const Role kReader{{.mode = Mode::kShared, .parent = "/q"}};
const Role kWriter{{.mode = Mode::kSharedWriter, .parent = "/q"}};
const Role kPermit1{{.mode = Mode::kPermit, .permits = 1, .parent = "/q"}};
const Role kPermit2{{.mode = Mode::kPermit, .permits = 2, .parent = "/q"}};
const Role kMember{{.mode = Mode::kMember, .parent = "/q"}};
const Role kUpgrader{kReader.spec, Mode::kSharedWriter};
const Role kDowngrader{kWriter.spec, Mode::kShared};

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
      {"alone-lock-delay", "one that keeps the record of the last holder", {kLockDelay}, 2},
      {"two-lock-delay", "two that keep the record", {kLockDelay, kLockDelay}, 1},
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
      {"two-permits-of-one", "two at a semaphore of one", {kPermit1, kPermit1}, 1},
      {"permits", "three at a semaphore of two", {kPermit2, kPermit2, kPermit2}, 0, kAlike},
      {"permits-one-client", "the same", {kPermit2, kPermit2, kPermit2}, 1, kOneClient},
      {"permits-of-one", "three at one", {kPermit1, kPermit1, kPermit1}, 0, kAlike},
      {"permits-four", "four", {kPermit2, kPermit2, kPermit2, kPermit2}, 0, kLastApart},
      {"permits-four-fault", "four", {kPermit2, kPermit2, kPermit2, kPermit2}, 1, kLastApart},
      {"permits-and-lock", "two at a semaphore and a lock", {kPermit2, kLock, kPermit2}},
      {"members", "two members of a group", {kMember, kMember}, 1},
      {"three-calm", "three contenders", {kLock, kLock, kLock}},
      {"three-one-client", "three contenders", {kLock, kLock, kLock}, 1, kOneClient},
      {"three", "three contenders", {kLock, kLock, kLock}, 1, kAlike},
      {"two-triples", "two contenders", {kLock, kLock}, 3, kLong | kRough | kAlike},
      {"two-lag-pairs", "two contenders", {kLock, kLock}, 2, kLong | kRough | kAlike | kLag},
  };
  return *sets;
}

}  // namespace zkrecipes::explore

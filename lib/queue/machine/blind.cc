// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/blind.h"

#include <cstddef>

namespace zkrecipes::queue::machine {
namespace {

constexpr size_t kUuidWithDashes = 36;
constexpr size_t kUuidWithout = 32;
constexpr size_t kSequenceBytes = 10;  // at least

// Modes whose names one recipe of Curator looks for.
enum class Family { kLock, kReadWrite, kLatch };

// Each recipe of Curator sorts only the names that it writes itself, and ignores all others.
Family FamilyOf(Mode mode) {
  if (mode == Mode::kLeader) return Family::kLatch;
  return mode == Mode::kExclusive ? Family::kLock : Family::kReadWrite;
}

// Whether the maker of `child` would not see a node that is named so, and hold at the same time.
bool IsBlindTo(absl::string_view child, Dialect dialect, Mode named) {
  // Its holders are nodes below this one, so whoever holds it is in no listing of ours.
  if (child == kSemaphoreLeases) return true;
  if (child.size() < kUuidWithout + kSequenceBytes) return false;  // as all of ours
  const std::optional<NodeName> other = ParseNodeName(child);
  if (!other.has_value()) return false;
  if (named == Mode::kShared && other->mode == Mode::kShared) return false;  // readers share
  switch (LibraryOf(*other)) {
    case Library::kOurs:
      return false;
    case Library::kKazoo:
      return dialect != Dialect::kKazoo;
    case Library::kCurator:
      return dialect != Dialect::kCurator || FamilyOf(other->mode) != FamilyOf(named);
  }
  return false;
}

}  // namespace

// By the length of the GUID: ours are shorter than either library's.
Library LibraryOf(const NodeName& name) {
  const bool dashes = name.guid.find('-') != std::string::npos;
  if (name.dialect == Dialect::kCurator && dashes && name.guid.size() == kUuidWithDashes) {
    return Library::kCurator;
  }
  if (name.dialect == Dialect::kKazoo && !dashes && name.guid.size() == kUuidWithout) {
    return Library::kKazoo;
  }
  return Library::kOurs;
}

std::vector<std::string> BlindAmong(const zk::Names& children, Dialect dialect, Mode named) {
  std::vector<std::string> blind;
  for (const absl::string_view child : children) {
    if (IsBlindTo(child, dialect, named)) blind.emplace_back(child);
  }
  return blind;
}

Maker MakerOf(const std::string& blind) {
  const std::optional<NodeName> name = ParseNodeName(blind);
  if (!name.has_value()) return {"Curator's InterProcessSemaphoreMutex", "use another path"};
  if (name->dialect == Dialect::kKazoo) {
    return {"kazoo's", "write kazoo's names (NameDialect::kKazoo)"};
  }
  switch (FamilyOf(name->mode)) {
    case Family::kLock:
      return {"Curator's InterProcessMutex or LeaderSelector",
              "write Curator's names with NodeMarker::kLock"};
    case Family::kReadWrite:
      return {"Curator's InterProcessReadWriteLock",
              "write Curator's names with NodeMarker::kWriter, or use a ReadWriteLock"};
    case Family::kLatch:
      return {"Curator's LeaderLatch", "write Curator's names with NodeMarker::kLatch"};
  }
  return {};
}

}  // namespace zkrecipes::queue::machine

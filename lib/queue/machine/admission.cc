// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/admission.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace zkrecipes::queue::machine {
namespace {

using Ranked = std::vector<std::pair<int32_t, absl::string_view>>;  // by sequence number

std::vector<absl::string_view> InOrder(Ranked ranked) {
  std::sort(ranked.begin(), ranked.end());
  std::vector<absl::string_view> names;
  names.reserve(ranked.size());
  for (const auto& [sequence, name] : ranked) names.push_back(name);
  return names;
}

// Readers share, and members wait for nobody, nor anybody for them; every other pair of modes
// excludes each other. (Of a semaphore's permits among themselves: permits.h.)
bool Blocks(Mode lower, Mode mine) {
  if (lower == Mode::kMember || mine == Mode::kMember) return false;
  return mine != Mode::kShared || lower != Mode::kShared;
}

}  // namespace

QueueView ViewQueue(const zk::Names& children, Mode mode, absl::string_view own_name,
                    absl::string_view ignored) {
  QueueView view;
  const std::optional<NodeName> own = ParseNodeName(own_name);
  if (own) view.sequence = own->sequence;
  Ranked lower;
  for (const absl::string_view child : children) {
    if (child == own_name) {
      view.listed = true;
      continue;
    }
    // The lease that an upgrade or downgrade follows: its own earlier node does not block it.
    if (child == ignored) {
      view.ignored_listed = true;
      continue;
    }
    // Strangers' nodes are no contenders. Without an own number nothing is known to be in front;
    // the caller must look at `sequence` before it grants.
    const std::optional<NodeName> other = ParseNodeName(child);
    if (other && own && other->sequence < own->sequence && Blocks(other->mode, mode)) {
      if (lower.empty()) lower.reserve(children.size());
      lower.emplace_back(other->sequence, child);
    }
  }
  view.in_front = InOrder(std::move(lower));
  return view;
}

bool HasWriter(const std::vector<absl::string_view>& in_front) {
  return std::any_of(in_front.begin(), in_front.end(), [](absl::string_view name) {
    return ParseNodeName(name)->mode != Mode::kShared;
  });
}

bool TailMustWait(const zk::Names& children, Mode mode) {
  return std::any_of(children.begin(), children.end(), [mode](absl::string_view child) {
    const std::optional<NodeName> other = ParseNodeName(child);
    return other && Blocks(other->mode, mode);
  });
}

// By the GUID, which only the own create can have written: how a node is found whose reply was
// lost.
std::vector<std::string> NodesOf(const zk::Names& children, const std::string& guid) {
  Ranked own;
  for (const absl::string_view child : children) {
    const std::optional<NodeName> name = ParseNodeName(child);
    if (name && name->guid == guid) own.emplace_back(name->sequence, child);
  }
  const std::vector<absl::string_view> ordered = InOrder(std::move(own));
  return {ordered.begin(), ordered.end()};
}

bool SequenceExhausted(int32_t sequence) {
  // Room for the contenders that are queued already: past the largest number the server counts on
  // from the smallest, and newcomers would overtake everyone.
  constexpr int32_t kReserve = 1 << 20;
  return sequence < 0 || sequence >= std::numeric_limits<int32_t>::max() - kReserve;
}

std::string HeadOf(const zk::Names& children) {
  std::string head;
  std::optional<int32_t> lowest;
  for (const absl::string_view child : children) {
    const std::optional<NodeName> name = ParseNodeName(child);
    if (!name || name->mode == Mode::kMember) continue;  // a group's: nobody waits for it
    if (lowest.has_value() && name->sequence >= *lowest) continue;
    lowest = name->sequence;
    head = std::string(child);
  }
  return head;
}

// ---- Contenders that are blind to ours ----------------------------------------------------------

namespace {

constexpr size_t kUuidWithDashes = 36;
constexpr size_t kUuidWithout = 32;
constexpr size_t kSequenceBytes = 10;  // at least
// The child in which who acquires Curator's semaphore queues for a moment.
constexpr char kSemaphoreQueue[] = "locks";

// Modes whose names one recipe of Curator looks for.
enum class Family { kLock, kReadWrite, kLatch, kOurs };

// Each recipe of Curator sorts only the names that it writes itself, and ignores all others.
Family FamilyOf(Mode mode) {
  switch (mode) {
    case Mode::kExclusive:
      return Family::kLock;
    case Mode::kShared:
    case Mode::kSharedWriter:
      return Family::kReadWrite;
    case Mode::kLeader:
      return Family::kLatch;
    case Mode::kPermit:
    case Mode::kMember:
      break;
  }
  return Family::kOurs;
}

enum class Library { kOurs, kCurator, kKazoo };

// Of the GUID alone: Curator's is a UUID with dashes, kazoo's one without; ours are shorter. A
// go-zookeeper Lock counts as ours: it waits for every name that it can read, and fails on the
// others.
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

// A holder of kazoo's Semaphore: the hexadecimal digits of a UUID, and no number. Other programs
// may name nodes so, too, and where no permits are counted they hurt nobody.
bool IsKazoosPermit(absl::string_view child) {
  return child.size() == kUuidWithout &&
         std::all_of(child.begin(), child.end(), [](unsigned char c) {
           return absl::ascii_isxdigit(c) && !absl::ascii_isupper(c);
         });
}

// Whether the maker of `child` would not see a node that is named so, and hold at the same time.
bool IsBlindTo(absl::string_view child, Dialect dialect, Mode named) {
  if (named == Mode::kPermit && (IsKazoosPermit(child) || child == kRecordName)) return true;
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

bool Contains(const zk::Names& children, absl::string_view child) {
  return std::any_of(children.begin(), children.end(),
                     [child](absl::string_view other) { return other == child; });
}

// A semaphore's lease is named "lease-" and a number, behind a GUID.
Leases LeasesIn(const zk::Names& children_of_leases) {
  Leases found = Leases::kEmpty;
  for (absl::string_view child : children_of_leases) {
    found = Leases::kOthers;
    size_t digits = 0;
    while (digits < child.size() && absl::ascii_isdigit(child[child.size() - 1 - digits])) ++digits;
    child.remove_suffix(digits);
    absl::ConsumeSuffix(&child, "-");  // a negative number's
    const bool lease = absl::EndsWith(child, "lease") || absl::EndsWith(child, "lease-");
    if (digits >= kSequenceBytes - 1 && lease) return Leases::kHeld;
  }
  return found;
}

bool IsSemaphore(const zk::Names& children, Leases leases) {
  if (leases != Leases::kEmpty) return leases == Leases::kHeld;
  return Contains(children, kSemaphoreQueue);
}

std::vector<std::string> BlindAmong(const zk::Names& children, Dialect dialect, Mode named) {
  std::vector<std::string> blind;
  for (const absl::string_view child : children) {
    if (IsBlindTo(child, dialect, named)) blind.emplace_back(child);
  }
  return blind;
}

Maker MakerOf(const std::string& blind, Mode named) {
  constexpr const char* kElsewhere = "use another path";
  const bool named_alone = FamilyOf(named) == Family::kOurs;  // no option writes another name
  const auto maker = [&](const char* recipe, const char* remedy) {
    return Maker{recipe, named_alone ? kElsewhere : remedy};
  };
  if (blind == kRecordName) {
    return {"a Lock with a lock delay",
            "use another path, or Locks without the delay, and delete this record"};
  }
  if (IsKazoosPermit(blind)) return {"kazoo's Semaphore", kElsewhere};
  const std::optional<NodeName> name = ParseNodeName(blind);
  if (!name.has_value()) {
    return {"Curator's InterProcessSemaphoreMutex or InterProcessSemaphoreV2", kElsewhere};
  }
  if (name->dialect == Dialect::kKazoo) {
    return maker("kazoo's", "write kazoo's names (NameDialect::kKazoo)");
  }
  switch (FamilyOf(name->mode)) {
    case Family::kLock:
      return maker("Curator's InterProcessMutex or LeaderSelector",
                   "write Curator's names with NodeMarker::kLock");
    case Family::kReadWrite:
      return maker("Curator's InterProcessReadWriteLock",
                   "write Curator's names with NodeMarker::kWriter, or use a ReadWriteLock");
    case Family::kLatch:
      return maker("Curator's LeaderLatch", "write Curator's names with NodeMarker::kLatch");
    case Family::kOurs:
      break;  // written by nobody with Curator's GUID
  }
  return {"another library's", kElsewhere};
}

}  // namespace zkrecipes::queue::machine

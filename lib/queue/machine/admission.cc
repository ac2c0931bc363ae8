// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/admission.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

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

// Readers share; every other pair of modes excludes each other.
bool Blocks(Mode lower, Mode mine) { return mine != Mode::kShared || lower != Mode::kShared; }

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
    if (!name || (lowest.has_value() && name->sequence >= *lowest)) continue;
    lowest = name->sequence;
    head = std::string(child);
  }
  return head;
}

}  // namespace zkrecipes::queue::machine

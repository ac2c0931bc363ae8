// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/admission.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace zkrecipes::queue {
namespace {

bool Blocks(Mode lower, Mode mine) { return mine != Mode::kShared || lower != Mode::kShared; }

}  // namespace

QueueView ViewQueue(const std::vector<std::string>& children, Mode mode,
                    const std::string& own_name) {
  QueueView view;
  const std::optional<NodeName> own = ParseNodeName(own_name);
  std::vector<std::pair<int32_t, std::string>> lower;
  for (const std::string& child : children) {
    if (child == own_name) {
      view.listed = true;
      continue;
    }
    const std::optional<NodeName> other = ParseNodeName(child);
    if (other && own && other->sequence < own->sequence && Blocks(other->mode, mode)) {
      lower.emplace_back(other->sequence, child);
    }
  }
  std::sort(lower.begin(), lower.end());
  for (auto& entry : lower) view.lower.push_back(std::move(entry.second));
  return view;
}

bool TailMustWait(const std::vector<std::string>& children, Mode mode) {
  return std::any_of(children.begin(), children.end(), [mode](const std::string& child) {
    const std::optional<NodeName> other = ParseNodeName(child);
    return other && Blocks(other->mode, mode);
  });
}

bool SequenceExhausted(int32_t sequence) {
  constexpr int32_t kReserve = 1 << 20;
  return sequence < 0 || sequence >= std::numeric_limits<int32_t>::max() - kReserve;
}

}  // namespace zkrecipes::queue

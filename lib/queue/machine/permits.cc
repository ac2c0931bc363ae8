// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/permits.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

#include "lib/queue/machine/node_name.h"

namespace zkrecipes::queue::machine {
namespace {

struct Queued {
  int32_t sequence = 0;
  absl::string_view name;
  bool permit = false;
};

std::optional<Queued> Read(absl::string_view child) {
  const std::optional<NodeName> name = ParseNodeName(child);
  if (!name.has_value() || name->mode == Mode::kMember) return std::nullopt;
  return Queued{name->sequence, child, name->mode == Mode::kPermit};
}

// So many of them are permits, and so many are other contenders.
struct Count {
  size_t permits = 0;
  size_t others = 0;

  void Add(const Queued& one) { ++(one.permit ? permits : others); }
  // Whether a permit behind them is granted.
  bool Grants(size_t of) const { return others == 0 && permits < of; }
  // How many have to go, at least, before one behind them is granted.
  size_t ToGo(size_t of) const { return others + (permits < of ? 0 : permits - of + 1); }
};

}  // namespace

PermitView ViewPermits(const zk::Names& children, absl::string_view own_name, size_t permits) {
  PermitView view;
  const std::optional<NodeName> own = ParseNodeName(own_name);
  if (own) view.sequence = own->sequence;
  std::vector<Queued> lower;
  std::optional<Queued> next;  // the nearest one behind
  for (const absl::string_view child : children) {
    if (child == own_name) {
      view.listed = true;
      continue;
    }
    const std::optional<Queued> other = Read(child);
    if (!other || !own) continue;
    if (other->sequence < own->sequence) {
      lower.push_back(*other);
    } else if (!next || other->sequence < next->sequence) {
      next = other;
    }
  }
  view.followed = next.has_value() && next->permit;
  std::ranges::sort(lower, {}, &Queued::sequence);
  Count in_front;
  Count before_last;
  for (const Queued& one : lower) {
    before_last = in_front;
    in_front.Add(one);
  }
  view.granted = in_front.Grants(permits);
  if (view.granted) return view;
  const bool first = lower.back().permit && before_last.Grants(permits);
  view.behind_waiter = lower.back().permit && !first;
  const size_t watched = first ? lower.size() : 1;
  const size_t to_go = in_front.ToGo(permits);
  for (size_t i = 0; i < lower.size(); ++i) {
    const size_t place = lower.size() - i;  // ahead
    if (place <= watched) view.watched.push_back(lower[i].name);
    if (place <= to_go) view.in_front.push_back(lower[i].name);
  }
  return view;
}

bool TailMustWaitForPermit(const zk::Names& children, size_t permits) {
  Count all;
  for (const absl::string_view child : children) {
    if (const std::optional<Queued> one = Read(child)) all.Add(*one);
  }
  return !all.Grants(permits);
}

std::optional<size_t> ParsePermits(absl::string_view data) {
  size_t number = 0;
  const bool digits =
      !data.empty() && data.size() <= 4 && data.front() != '0' &&
      std::ranges::all_of(data, [](unsigned char c) { return absl::ascii_isdigit(c); });
  if (!digits || !absl::SimpleAtoi(data, &number) || number > kMostPermits) return std::nullopt;
  return number;
}

}  // namespace zkrecipes::queue::machine

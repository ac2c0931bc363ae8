// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/backoff.h"

#include <algorithm>

namespace zkrecipes::zk {
namespace {

constexpr absl::Duration kFirstRound = absl::Milliseconds(20);
constexpr absl::Duration kStart = absl::Milliseconds(50);
constexpr absl::Duration kCap = absl::Milliseconds(500);

// SplitMix64, as published by Vigna (public domain): any seed will do, zero included.
uint64_t NextRandom(uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

absl::Duration Backoff::Next() {
  absl::Duration limit = kFirstRound;
  if (attempts_ >= servers_) {
    const size_t doublings = std::min<size_t>(attempts_ - servers_, 10);
    limit = std::min(kCap, kStart * (int64_t{1} << doublings));
  }
  ++attempts_;
  const double fraction = static_cast<double>(NextRandom(random_) >> 11) / (uint64_t{1} << 53);
  return limit * fraction;
}

}  // namespace zkrecipes::zk

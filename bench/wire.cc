// SPDX-License-Identifier: Apache-2.0

#include <chrono>

#include "bench/proxy.h"
#include "bench/samples.h"

namespace bench {

// Connecting, and what else a sample does once, is the same in a short and a long one.
Sample Wire(Sample (*sample)(const Entrant&, const Track&, int turns), const Entrant& entrant,
            const Track& track) {
  constexpr int kFew = 20, kMany = 60;
  Proxy proxy(track.servers, std::chrono::microseconds(0));
  const auto passes = [&](int turns) {
    const Traffic before = proxy.traffic();
    sample(entrant, {proxy.servers(), track.path + "-" + std::to_string(turns)}, turns);
    const Traffic after = proxy.traffic();
    return Traffic{after.requests - before.requests, after.bytes - before.bytes};
  };
  const Traffic few = passes(kFew), many = passes(kMany);
  constexpr double kMore = kMany - kFew;
  Sample each{static_cast<double>(many.bytes - few.bytes) / kMore, {}};
  if (entrant.is_zookeepers()) {
    each.each["requests"] = static_cast<double>(many.requests - few.requests) / kMore;
  }
  return each;
}

}  // namespace bench

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_BENCH_TASK_H_
#define ZKRECIPES_BENCH_TASK_H_

#include <nlohmann/json.hpp>

#include "bench/runs.h"

namespace bench {

inline nlohmann::json Task(const char* run, const Track& track, nlohmann::json more) {
  more.update({{"run", run}, {"servers", track.servers}, {"path", track.path}});
  return more;
}

// The peer's measurements, each per operation.
inline Sample Asked(Peer& peer, const nlohmann::json& task) {
  Sample sample{.value = {}, .each = peer.Ask(task.dump())};
  if (auto value = sample.each.extract("value")) sample.value = value.mapped();
  return sample;
}

}  // namespace bench

#endif  // ZKRECIPES_BENCH_TASK_H_

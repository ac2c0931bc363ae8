// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_BENCH_RUNS_H_
#define ZKRECIPES_BENCH_RUNS_H_

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/entrant.h"

namespace bench {

inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Sample {
  std::optional<double> value;         // in the run's unit; none: the entrant cannot do it
  std::map<std::string, double> each;  // what an operation used: "cpu us", "switches", "bytes"
};

struct Track {
  std::string servers;
  std::string path;  // of its own: every sample gets an empty one
  double scale = 1;  // of how long or how often
  int round_trip_ms = 0;
};

struct Run {
  std::string name;
  std::string unit;
  std::function<Sample(const Entrant&, const Track&)> sample;
  int round_trip_ms = 0;  // to the servers, beside what they take
  int most_rounds = 1000;
  bool quick = true;  // `--quick` has it, too
  bool peers = true;  // can do it
};

const std::vector<Run>& Runs();

}  // namespace bench

#endif  // ZKRECIPES_BENCH_RUNS_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_BENCH_RUNS_H_
#define ZKRECIPES_BENCH_RUNS_H_

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "bench/contestant.h"
#include "bench/counts.h"

namespace bench {

inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Sample {
  double value = 0;  // in the run's unit
  double operations = 0;
  Counts used;  // by all operations
};

struct Track {
  std::string servers;
  std::string path;  // of its own: every sample gets an empty one
  double scale = 1;  // of how long or how often
};

struct Run {
  std::string name;
  std::string unit;
  bool higher_is_better = false;
  std::function<Sample(const Entrant&, const Track&)> sample;
};

const std::vector<Run>& Runs();

}  // namespace bench

#endif  // ZKRECIPES_BENCH_RUNS_H_

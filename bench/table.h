// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_BENCH_TABLE_H_
#define ZKRECIPES_BENCH_TABLE_H_

#include <map>
#include <string>
#include <vector>

#include "bench/runs.h"

namespace bench {

// A number each round: of a unit; of an entrant; of a run.
using Figures = std::map<std::string, std::vector<double>>;
using OfEntrants = std::map<std::string, Figures>;
using All = std::map<std::string, OfEntrants>;

void Note(const Run& run, const Sample& sample, Figures& figures);

// To standard output, a row an entrant, run and unit: the medians, and the ratio to the floor's
// figure of the same round, of which the median and the extremes.
void PrintTable(const All& all);

}  // namespace bench

#endif  // ZKRECIPES_BENCH_TABLE_H_

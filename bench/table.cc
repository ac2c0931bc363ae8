// SPDX-License-Identifier: Apache-2.0

#include "bench/table.h"

#include <algorithm>
#include <cstdio>

namespace bench {
namespace {

void PrintRow(const std::string& run, const std::string& unit, const std::string& entrant,
              const std::vector<double>& values, const std::vector<double>& floor) {
  std::printf("| %-29s | %-26s | %-8s | %10.1f |", run.c_str(), unit.c_str(), entrant.c_str(),
              Median(values));
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(values.size(), floor.size()); ++i) {
    if (floor[i] != 0) ratios.push_back(values[i] / floor[i]);
  }
  if (ratios.empty()) return std::puts("       |              |"), void();
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf(" %5.2f | %.2f to %.2f |\n", Median(ratios), *least, *most);
}

}  // namespace

void Note(const Run& run, const Sample& sample, Figures& figures) {
  if (sample.value) figures[run.unit].push_back(*sample.value);
  for (const auto& [unit, value] : sample.each) figures[unit].push_back(value);
}

void PrintTable(const All& all) {
  std::puts("| run | unit | entrant | median | of the floor's | rounds |");
  std::puts("| --- | --- | --- | --- | --- | --- |");
  for (const Run& run : Runs()) {
    if (!all.contains(run.name)) continue;
    for (const auto& [entrant, figures] : all.at(run.name)) {
      for (const auto& [unit, values] : figures) {
        const OfEntrants& others = all.at(run.name);
        const bool compared = others.contains("floor") && others.at("floor").contains(unit);
        PrintRow(run.name, unit, entrant, values,
                 compared ? others.at("floor").at(unit) : std::vector<double>{});
      }
    }
  }
}

}  // namespace bench

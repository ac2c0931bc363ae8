// SPDX-License-Identifier: Apache-2.0
//
// Measures the library beside a bare program with the same requests, on the same servers in the same
// run: one round is every run of every entrant, and ratios are taken within a round.

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/runs.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace bench {
namespace {

struct Options {
  int rounds = 5;
  double scale = 1;
  std::string only, entrant, servers, json;
  bool list = false;
};

// The figures of one entrant in one run, a number each round.
using Figures = std::map<std::string, std::vector<double>>;

void Note(const Run& run, const Sample& sample, Figures& figures) {
  figures[run.unit].push_back(sample.value);
  if (sample.used.cpu_us == 0) return;
  figures["cpu us"].push_back(sample.used.cpu_us / sample.operations);
  figures["switches"].push_back(sample.used.voluntary_switches / sample.operations);
  figures["allocations"].push_back(sample.used.allocations / sample.operations);
}

// Of ours to the floor's in the same round; the ratio is above 1 where ours is faster, if speed is
// what the figure says, else where ours costs more.
void Print(const std::string& run, const Figures& floor, const Figures& ours) {
  for (const auto& [unit, values] : ours) {
    std::vector<double> ratios;
    for (size_t i = 0; i < values.size(); ++i) ratios.push_back(values[i] / floor.at(unit)[i]);
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    std::printf("| %-30s | %-11s | %9.1f | %9.1f | %5.2f | %.2f to %.2f |\n", run.c_str(),
                unit.c_str(), Median(values), Median(floor.at(unit)), Median(ratios), *least,
                *most);
  }
  std::fflush(stdout);
}

int Measure(const Options& options, const std::string& servers) {
  std::map<std::string, std::map<std::string, Figures>> all;
  int samples = 0;
  for (int round = 0; round < options.rounds; ++round) {
    for (const Run& run : Runs()) {
      if (run.name.find(options.only) == std::string::npos) continue;
      for (const Entrant& entrant : Entrants()) {
        if (!options.entrant.empty() && options.entrant != entrant.name) continue;
        const Track track = {servers, "/bench-" + std::to_string(++samples), options.scale};
        Note(run, run.sample(entrant, track), all[run.name][entrant.name]);
      }
    }
    std::fprintf(stderr, "round %d of %d\n", round + 1, options.rounds);
  }
  if (samples == 0) return std::fprintf(stderr, "no run is called that\n"), 1;
  if (!options.json.empty()) {
    std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(options.json.c_str(), "w"), &std::fclose);
    if (file == nullptr) return std::perror(options.json.c_str()), 1;
    std::fputs(nlohmann::json(all).dump(1).c_str(), file.get());
  }
  if (!options.entrant.empty()) return 0;  // there is nothing to compare with
  std::puts(
      "| run                            | unit        | ours      | floor     | ratio | rounds |");
  std::puts("| --- | --- | --- | --- | --- | --- |");
  for (const Run& run : Runs()) {
    if (all.contains(run.name)) Print(run.name, all[run.name]["floor"], all[run.name]["ours"]);
  }
  return 0;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Measures the library beside a bare program with the same requests");
  app.add_option("--rounds", options.rounds, "how often everything is measured")
      ->check(CLI::PositiveNumber);
  app.add_option("--scale", options.scale, "how long a measurement takes")
      ->check(CLI::PositiveNumber);
  app.add_option("--only", options.only, "the runs whose name contains this");
  app.add_option("--entrant", options.entrant, "only this one");
  app.add_option("--servers", options.servers, "an ensemble, instead of three servers of its own");
  app.add_option("--json", options.json, "a file for every figure");
  CLI11_PARSE(app, argc, argv);
  if (!options.servers.empty()) return Measure(options, options.servers);
  const auto ensemble = zkrecipes::testing::LocalEnsemble::Start(
      {.max_session_timeout = absl::Hours(1), .max_heap_megabytes = 256});
  if (!ensemble.ok()) return std::cerr << ensemble.status() << "\n", 1;
  return Measure(options, (*ensemble)->servers());
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::Main(argc, argv); }

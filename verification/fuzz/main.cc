// SPDX-License-Identifier: Apache-2.0
//
// Feeds the client what a hostile server says, or Sequencer::Parse what a stranger sends: see
// README.md.

#include <cstdint>
#include <iostream>

#include "CLI/CLI.hpp"

#include "verification/fuzz/runs.h"

namespace {

int RunServers(uint64_t seed, int64_t runs) {
  zkrecipes::fuzz::Tally tally;
  for (int64_t i = 0; i < runs; ++i, ++seed) {
    zkrecipes::fuzz::RunOne(seed, tally);
    if (!tally.violation.empty()) {
      std::cerr << "seed " << seed << ": " << tally.violation << "\n";
      return 1;
    }
  }
  std::cout << tally.runs << " runs, " << tally.connections << " connections, " << tally.bytes
            << " bytes, " << tally.good << " answers believed, " << tally.refusals
            << " servers refused\n";
  return 0;
}

int RunSequencers(uint64_t seed, int64_t runs) {
  zkrecipes::fuzz::SequencerTally tally;
  for (int64_t i = 0; i < runs; ++i, ++seed) {
    zkrecipes::fuzz::TrySequencers(seed, tally);
    if (!tally.violation.empty()) {
      std::cerr << "seed " << seed << ": " << tally.violation << "\n";
      return 1;
    }
  }
  std::cout << tally.texts << " texts; of " << runs << " that were spoilt " << tally.read
            << " are sequencers, " << tally.refused << " were refused\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"A handle of the C client against servers that spoil their answers."};
  uint64_t seed = 1;
  int64_t runs = 100'000;
  bool sequencers = false;
  app.add_option("--seed", seed, "the first seed; each run has the next one")
      ->capture_default_str();
  app.add_option("--runs", runs, "how many runs, of some dozen answers each")
      ->capture_default_str();
  app.add_flag("--sequencers", sequencers, "Sequencer::Parse against texts of strangers instead");
  CLI11_PARSE(app, argc, argv);
  return sequencers ? RunSequencers(seed, runs) : RunServers(seed, runs);
}

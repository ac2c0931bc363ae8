// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_FUZZ_RUNS_H_
#define ZKRECIPES_VERIFICATION_FUZZ_RUNS_H_

#include <cstdint>
#include <string>

namespace zkrecipes::fuzz {

// Figures of one run, or of many.
struct Tally {
  int64_t runs = 0;
  int64_t connections = 0;
  int64_t bytes = 0;      // that the client has read
  int64_t good = 0;       // answers that it believed
  int64_t refusals = 0;   // connections that it dropped because of what was said
  std::string violation;  // "" if the client behaved
};

// A handle of the C client, a few dozen requests and a server that spoils its answers, all from a
// seed and on this thread. A violation: a request that is not answered exactly once, a client that
// spins (its socket is ready, and it does nothing), a good server that is refused, or names that no
// server has said. Crashes are the sanitizers' to see.
void RunOne(uint64_t seed, Tally& tally);

struct SequencerTally {
  int64_t texts = 0;
  int64_t read = 0;  // among those that were spoilt
  int64_t refused = 0;
  std::string violation;  // of a rule of README.md, or ""
};

// A sequencer, as a holder may have it, and a text that a stranger may send in its place, both
// chosen by the seed, are given to Sequencer::Parse.
void TrySequencers(uint64_t seed, SequencerTally& tally);

}  // namespace zkrecipes::fuzz

#endif  // ZKRECIPES_VERIFICATION_FUZZ_RUNS_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_FUZZ_SEQUENCER_TEXTS_H_
#define ZKRECIPES_VERIFICATION_FUZZ_SEQUENCER_TEXTS_H_

#include <cstdint>
#include <string>

namespace zkrecipes::fuzz {

struct SequencerTally {
  int64_t texts = 0;
  int64_t read = 0;  // among those that were spoilt
  int64_t refused = 0;
  std::string violation;  // of a rule of README.md, or ""
};

// A sequencer, as a holder may have it, and a text that a stranger may send in its place, both chosen
// by the seed, are given to Sequencer::Parse.
void TrySequencers(uint64_t seed, SequencerTally& tally);

}  // namespace zkrecipes::fuzz

#endif  // ZKRECIPES_VERIFICATION_FUZZ_SEQUENCER_TEXTS_H_

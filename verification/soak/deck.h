// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SOAK_DECK_H_
#define ZKRECIPES_VERIFICATION_SOAK_DECK_H_

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "verification/faults/catalogue.h"

namespace zkrecipes::soak {

// Faults like a deck of cards: each comes once before one comes again.
class Deck {
 public:
  // REQUIRES: there are some.
  explicit Deck(std::vector<const faults::Fault*> faults)
      : faults_(std::move(faults)), next_(faults_.size()) {}

  const faults::Fault& Draw(std::mt19937_64& random) {
    if (at_end()) {
      std::ranges::shuffle(faults_, random);
      next_ = 0;
    }
    return *faults_[next_++];
  }
  // Each has been drawn equally often.
  bool at_end() const { return next_ == faults_.size(); }

 private:
  std::vector<const faults::Fault*> faults_;
  size_t next_;
};

}  // namespace zkrecipes::soak

#endif  // ZKRECIPES_VERIFICATION_SOAK_DECK_H_

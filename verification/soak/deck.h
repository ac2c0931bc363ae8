// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SOAK_DECK_H_
#define ZKRECIPES_VERIFICATION_SOAK_DECK_H_

#include <vector>

#include "absl/random/bit_gen_ref.h"

#include "verification/faults/catalogue.h"

namespace zkrecipes::soak {

// Faults like a deck of cards: each comes once before one comes again.
class Deck {
 public:
  // REQUIRES: there are some.
  explicit Deck(std::vector<const faults::Fault*> faults) : faults_(std::move(faults)) {}

  const faults::Fault& Draw(absl::BitGenRef random);
  // Each has been drawn equally often.
  bool at_end() const { return next_ == faults_.size(); }

 private:
  std::vector<const faults::Fault*> faults_;
  size_t next_ = faults_.size();
};

}  // namespace zkrecipes::soak

#endif  // ZKRECIPES_VERIFICATION_SOAK_DECK_H_

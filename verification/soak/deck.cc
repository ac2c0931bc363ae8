// SPDX-License-Identifier: Apache-2.0

#include "verification/soak/deck.h"

#include <algorithm>

namespace zkrecipes::soak {

const faults::Fault& Deck::Draw(absl::BitGenRef random) {
  if (at_end()) {
    std::shuffle(faults_.begin(), faults_.end(), random);
    next_ = 0;
  }
  return *faults_[next_++];
}

}  // namespace zkrecipes::soak

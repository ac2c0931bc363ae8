// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SOAK_TROUBLE_H_
#define ZKRECIPES_VERIFICATION_SOAK_TROUBLE_H_

#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "verification/faults/catalogue.h"
#include "verification/soak/deck.h"
#include "verification/workload/recorder.h"

namespace zkrecipes::soak {

// Does faults, one after the other and some of them two at once, and records when. Blocks.
class Trouble {
 public:
  Trouble(faults::Scene& scene, history::Recorder& recorder, std::mt19937_64& random);

  // A fault from begin to end; now and then something happens to a client meanwhile. An error: it
  // could not be begun or ended, so the run is worth nothing.
  absl::Status Do(const faults::Fault& fault);

 private:
  absl::StatusOr<faults::Ongoing> Begin(const faults::Fault& fault);
  absl::Status End(const faults::Fault& fault, faults::Ongoing ongoing);
  void Record(history::Event::What what, const faults::Fault& fault, const std::string& target);

  faults::Scene& scene_;
  history::Recorder& recorder_;
  std::mt19937_64& random_;
  Deck for_clients_;
};

}  // namespace zkrecipes::soak

#endif  // ZKRECIPES_VERIFICATION_SOAK_TROUBLE_H_

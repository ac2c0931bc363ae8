// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SCHEDULES_CHOOSER_H_
#define ZKRECIPES_VERIFICATION_SCHEDULES_CHOOSER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "verification/schedules/dice.h"
#include "verification/schedules/move.h"
#include "verification/schedules/scene.h"
#include "verification/schedules/weather.h"

namespace zkrecipes::explore::schedules {

struct Climate;

// Chooses what to try next in a Scene. From the same seed, the same.
class Chooser {
 public:
  // `scene` outlives it.
  Chooser(uint64_t seed, Weather weather, Scene& scene);

  // Nothing: this time, none.
  std::optional<Move> Next();

 private:
  void ChooseBeginning();
  uint32_t AnyRate();
  uint32_t AnyWait();
  uint32_t AnyPingGap();
  uint32_t AnyServer();
  Move UsersMove();
  Move Vanish(uint32_t who);
  Move StallAndForget(uint32_t who);
  Move Fault();

  Dice dice_;
  const Climate& climate_;
  Scene& scene_;
  std::vector<Move> planned_;  // last first
  std::vector<Move> ordinary_;
};

}  // namespace zkrecipes::explore::schedules

#endif  // ZKRECIPES_VERIFICATION_SCHEDULES_CHOOSER_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SCHEDULES_CHOOSER_H_
#define ZKRECIPES_VERIFICATION_SCHEDULES_CHOOSER_H_

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "verification/schedules/scene.h"

namespace zkrecipes::schedules {

// Chooses what to try next in a Scene. The same seed chooses the same.
class Chooser {
 public:
  // `scene` outlives it.
  Chooser(uint64_t seed, Weather weather, Scene& scene);

  // nullopt: this time, nothing.
  std::optional<Move> Next();

 private:
  uint32_t Below(size_t n) { return n == 0 ? 0 : static_cast<uint32_t>(random_() % n); }
  bool Chance(uint32_t of_1000) { return Below(1000) < of_1000; }
  void ChooseBeginning();
  uint32_t AnyRate();
  uint32_t AnyWait();
  uint32_t AnyPingGap();
  uint32_t AnyWhich(const MoveRow& row);
  std::optional<Move> UsersMove();
  Move Vanish();
  Move StallAndForget();
  Move TroubleMove();

  std::mt19937_64 random_;
  const Weather weather_;
  Scene& scene_;
  std::vector<MoveKind> troubles_;  // each as often as its weight says
  std::vector<Move> planned_;       // last first
  std::vector<Move> ordinary_;
};

}  // namespace zkrecipes::schedules

#endif  // ZKRECIPES_VERIFICATION_SCHEDULES_CHOOSER_H_

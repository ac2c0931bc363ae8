// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SCHEDULES_DICE_H_
#define ZKRECIPES_VERIFICATION_SCHEDULES_DICE_H_

#include <cstddef>
#include <cstdint>

namespace zkrecipes::explore::schedules {

// SplitMix64: cheap to start.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  uint32_t Pick(size_t n) { return static_cast<uint32_t>(Next() % n); }
  bool Chance(uint32_t of_1000) { return Pick(1000) < of_1000; }

 private:
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t state_;
};

}  // namespace zkrecipes::explore::schedules

#endif  // ZKRECIPES_VERIFICATION_SCHEDULES_DICE_H_

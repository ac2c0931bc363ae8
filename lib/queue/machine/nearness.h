// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_MACHINE_NEARNESS_H_
#define ZKRECIPES_LIB_QUEUE_MACHINE_NEARNESS_H_

#include <bit>
#include <cstddef>

namespace zkrecipes::queue::machine {

// Whether a waiting contender may soon be first in the queue, so that its session has to be proven
// by then. It watches only its predecessor, and is not told when others leave. So it looks now and
// then whether the node 2, 4, 8, ... places ahead is still there: at the farthest one that it does
// not know to be gone. It is near when the node two places ahead is gone; or when two looks in a
// row find that the next one is gone, so that the queue has gone half of its way in that time, and
// may be through it before the next look.
//
// A guess that costs beats or a moment's wait for a proof; nothing is believed because of it. A
// contender in the middle that gives up does no harm. Pure.
class Nearness {
 public:
  Nearness() = default;
  // As a listing has shown it.
  explicit Nearness(size_t in_front) : place_(in_front < 2 ? 0 : std::bit_floor(in_front)) {}

  bool near() const { return place_ == 0; }
  // How many places ahead of the contender to look. REQUIRES: !near()
  size_t place() const { return place_; }
  void OnChecked(bool there) {
    const bool fast = gone_ && !there;
    gone_ = !there;
    if (gone_) place_ = fast || place_ == 2 ? 0 : place_ / 2;
  }

 private:
  size_t place_ = 0;   // a power of two, or 0
  bool gone_ = false;  // found by the last look
};

}  // namespace zkrecipes::queue::machine

#endif  // ZKRECIPES_LIB_QUEUE_MACHINE_NEARNESS_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_MACHINE_IN_FRONT_H_
#define ZKRECIPES_LIB_QUEUE_MACHINE_IN_FRONT_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

#include "lib/zk/seam/types.h"

namespace zkrecipes::queue::machine {

// The nodes in front of a contender, as a listing has shown them: how many, and the names of those
// 1, 2, 4, 8, ... places ahead, which are all that is asked for. (All names of ten thousand waiters
// would be gigabytes.) Newcomers queue behind, so between two listings it only shrinks. Pure.
class InFront {
 public:
  InFront() = default;
  // In queue order: the nearest is the last.
  explicit InFront(const std::vector<absl::string_view>& names) : size_(names.size()) {
    for (size_t place = 1; place <= size_; place *= 2) kept_.emplace_back(names[size_ - place]);
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // The nearest. REQUIRES: !empty()
  absl::string_view back() const { return kept_.front(); }
  // The one `place` places ahead, a power of two, or the farthest that is known. REQUIRES: !empty()
  absl::string_view at(size_t place) const {
    return kept_[std::min(kept_.size() - 1, static_cast<size_t>(std::countr_zero(place)))];
  }
  // The nearest has gone. Another listing comes before the next one goes.
  void pop_back() {
    kept_.erase(kept_.begin());
    size_ = kept_.empty() ? 0 : size_ - 1;
  }
  // From the nearest on.
  const zk::Names& kept() const { return kept_; }

  friend bool operator==(const InFront&, const InFront&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const InFront& f) {
    return H::combine(std::move(h), f.size_, f.kept_);
  }

 private:
  size_t size_ = 0;
  zk::Names kept_;
};

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
  explicit Nearness(size_t in_front)
      : place_(in_front < 2 ? 0 : std::bit_floor(static_cast<uint32_t>(in_front))) {}

  bool near() const { return place_ == 0; }
  // How many places ahead of the contender to look. REQUIRES: !near()
  size_t place() const { return place_; }
  void OnChecked(bool there) {
    const bool fast = gone_ && !there;
    gone_ = !there;
    if (gone_) place_ = fast || place_ == 2 ? 0 : place_ / 2;
  }

 private:
  uint32_t place_ = 0;  // a power of two, or 0
  bool gone_ = false;   // found by the last look
};

}  // namespace zkrecipes::queue::machine

#endif  // ZKRECIPES_LIB_QUEUE_MACHINE_IN_FRONT_H_

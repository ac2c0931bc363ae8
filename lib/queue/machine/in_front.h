// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_MACHINE_IN_FRONT_H_
#define ZKRECIPES_LIB_QUEUE_MACHINE_IN_FRONT_H_

#include <algorithm>
#include <bit>
#include <cstddef>
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

}  // namespace zkrecipes::queue::machine

#endif  // ZKRECIPES_LIB_QUEUE_MACHINE_IN_FRONT_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_PATH_BUDGET_H_
#define ZKRECIPES_LIB_SESSION_PATH_BUDGET_H_

#include <cstddef>
#include <memory>

#include "zkrecipes/session_report.h"

namespace zkrecipes::session {

// How many bytes of paths one session may have in ephemeral nodes, or in watches. Beyond about 1 MB
// of watched paths a session never survives a reconnect, and closing one with more than about 2 MB
// of ephemeral paths leaves servers unable to load their database (ZOOKEEPER-706, ZOOKEEPER-4306).
// Requests are refused long before that. Not thread-safe; reservations may outlive the budget.
class PathBudget {
 public:
  static constexpr size_t kLimit = SessionReport::kMostBytes;
  // What a watch takes besides its path: a length field, when watches are set again.
  static constexpr size_t kPerWatch = 4;

  struct GiveBack {
    std::shared_ptr<size_t> used;  // of the budget, which may be gone
    size_t bytes = 0;
    void operator()(size_t*) const { *used -= bytes; }
  };
  // A share of the budget, given back on destruction.
  using Reservation = std::unique_ptr<size_t, GiveBack>;

  // A reservation that is false if it does not fit.
  Reservation Reserve(size_t bytes) {
    if (!Fits(bytes)) return {};
    *used_ += bytes;
    return Reservation(used_.get(), GiveBack{used_, bytes});
  }
  bool Fits(size_t bytes) const { return bytes <= kLimit - *used_; }
  size_t used() const { return *used_; }

 private:
  std::shared_ptr<size_t> used_ = std::make_shared<size_t>(0);
};

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_PATH_BUDGET_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_PATH_BUDGET_H_
#define ZKRECIPES_LIB_SESSION_PATH_BUDGET_H_

#include <cstddef>
#include <memory>
#include <utility>

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

  // A share of the budget, given back on destruction.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(Reservation&& other) noexcept
        : used_(std::move(other.used_)), bytes_(std::exchange(other.bytes_, 0)) {}
    Reservation& operator=(Reservation&& other) noexcept {
      Free();
      used_ = std::move(other.used_);
      bytes_ = std::exchange(other.bytes_, 0);
      return *this;
    }
    ~Reservation() { Free(); }
    explicit operator bool() const { return used_ != nullptr; }

   private:
    friend class PathBudget;
    Reservation(std::shared_ptr<size_t> used, size_t bytes)
        : used_(std::move(used)), bytes_(bytes) {
      *used_ += bytes_;
    }
    void Free() {
      if (used_ != nullptr) *used_ -= bytes_;
      used_ = nullptr;
    }

    std::shared_ptr<size_t> used_;
    size_t bytes_ = 0;
  };

  // A reservation that is false if it does not fit.
  Reservation Reserve(size_t bytes) {
    if (!Fits(bytes)) return {};
    return Reservation(used_, bytes);
  }
  bool Fits(size_t bytes) const { return bytes <= kLimit - *used_; }
  size_t used() const { return *used_; }

 private:
  std::shared_ptr<size_t> used_ = std::make_shared<size_t>(0);
};

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_PATH_BUDGET_H_

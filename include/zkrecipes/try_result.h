// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TRY_RESULT_H_
#define ZKRECIPES_TRY_RESULT_H_

#include <optional>
#include <utility>

#include "zkrecipes/lease.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// The result of a try: the lease, or Busy if another contender is in the way.
class [[nodiscard]] TryResult {
 public:
  static TryResult Busy() { return TryResult(); }
  explicit TryResult(Lease lease) : lease_(std::move(lease)) {}

  bool acquired() const { return lease_.has_value(); }
  // REQUIRES: acquired(), and not called before.
  Lease lease() && {
    Lease lease = std::move(*lease_);
    lease_.reset();
    return lease;
  }

 private:
  TryResult() = default;
  std::optional<Lease> lease_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_TRY_RESULT_H_

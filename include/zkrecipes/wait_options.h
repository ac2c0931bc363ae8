// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_WAIT_OPTIONS_H_
#define ZKRECIPES_WAIT_OPTIONS_H_

#include <stop_token>

#include "absl/time/time.h"

#include "zkrecipes/duration.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// Bounds one call. Whatever the network does, the call returns after `timeout` (DeadlineExceeded,
// or Unavailable if it asks the ensemble and there is no connection) or after a stop request
// (Cancelled), whichever comes first. On entry the timeout becomes a deadline on a clock that also
// counts suspended time; retries never restart it. A negative timeout is an InvalidArgument.
struct WaitOptions {
  Duration timeout = absl::InfiniteDuration();
  std::stop_token cancel = {};
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_WAIT_OPTIONS_H_

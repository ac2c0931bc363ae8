// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_RETRY_PAUSES_H_
#define ZKRECIPES_LIB_SESSION_RETRY_PAUSES_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "lib/base/random.h"

namespace zkrecipes::session {

// The longest pause before a request that was refused temporarily is sent again for the first time.
inline constexpr absl::Duration kRetryPause = absl::Milliseconds(100);

// The pauses of one contender or observer before what was refused is tried again. They double,
// since it may be refused for ever (an ACL without delete), up to `longest`: the session timeout.
// They begin anew once nothing was refused for that long after a try. A value, not thread-safe.
class RetryPauses {
 public:
  absl::Duration Next(base::BootTime now, absl::Duration longest, uint64_t random_bits) {
    if (now >= calm_at_) tries_ = 0;
    const absl::Duration limit =
        base::Doubled(kRetryPause, std::max(kRetryPause, longest), tries_++);
    const absl::Duration pause = base::Jittered(limit, random_bits);
    calm_at_ = now + pause + longest;
    return pause;
  }
  // A new connection, or another thing to try: what was refused may be granted now.
  void Reset() { tries_ = 0; }

 private:
  int tries_ = 0;
  base::BootTime calm_at_;
};

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_RETRY_PAUSES_H_

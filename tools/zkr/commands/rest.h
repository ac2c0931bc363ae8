// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_COMMANDS_REST_H_
#define ZKRECIPES_TOOLS_ZKR_COMMANDS_REST_H_

#include <algorithm>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace zkrecipes::zkr::commands {

// How long a candidate stays out of an election after its CMD ended at once: a second, doubled each
// time up to half a minute, so that a broken candidate does not lead, fail and campaign in a loop.
// Not thread-safe.
class Rest {
 public:
  // CMD, or the attempt to get to it, lasted `lasted`. Zero if there is no need to rest.
  absl::Duration After(absl::Duration lasted) {
    const bool at_once = lasted < absl::Seconds(1);
    last_ =
        at_once ? std::clamp(2 * last_, absl::Seconds(1), absl::Seconds(30)) : absl::ZeroDuration();
    return last_;
  }

 private:
  absl::Duration last_;
};

// Whether a candidate whose campaign failed stands again: its node was deleted, or it was first in
// the queue and its session could not be proven (lock.h). `connected`: not before its first
// connection, without which there is no ensemble.
inline bool StandsAgain(const absl::Status& why, bool connected) {
  return connected && (absl::IsAborted(why) || absl::IsUnavailable(why));
}

}  // namespace zkrecipes::zkr::commands

#endif  // ZKRECIPES_TOOLS_ZKR_COMMANDS_REST_H_

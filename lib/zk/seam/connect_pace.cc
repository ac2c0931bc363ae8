// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/seam/connect_pace.h"

#include <algorithm>

#include "lib/base/random.h"

namespace zkrecipes::zk::inline seam {

absl::Duration ConnectPace::AttemptLimit(const Terms& terms) const {
  const absl::Duration third = terms.session_timeout / 3;
  const absl::Duration first = std::clamp(third, absl::Seconds(1), absl::Seconds(5));
  const int doublings = 2 * (late_ / std::max(terms.servers, 1));  // two a round
  return base::Doubled(first, std::max(first, 2 * third), doublings);
}

absl::Duration ConnectPace::PauseLimit(const Terms& terms, base::BootTime now) const {
  const absl::Duration t = terms.session_timeout;
  // While the session may still live, attempts are worth more than a rest for the servers.
  const bool may_save_session = failures_ == 0 || now - first_failed_ < t;
  return base::Doubled(t / 50, may_save_session ? t / 10 : t / 3, failures_);
}

void ConnectPace::Failed(const Terms& terms, base::BootTime now, absl::Duration took,
                         uint64_t random_bits) {
  // As it was before this failure: the count grows only below.
  const absl::Duration limit = PauseLimit(terms, now);
  if (took >= AttemptLimit(terms)) ++late_;
  if (failures_ == 0) first_failed_ = now;
  // A whole fleet fails in the same instant: the first pause may be none, so that some clients are
  // back at once; later ones have a least length, so that a server that is down is left alone.
  next_attempt_ = now + (failures_ == 0 ? base::AnyUpTo(limit, random_bits)
                                        : base::Jittered(limit, random_bits));
  ++failures_;
}

}  // namespace zkrecipes::zk::inline seam

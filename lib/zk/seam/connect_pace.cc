// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/seam/connect_pace.h"

#include "lib/base/random.h"

namespace zkrecipes::zk::inline seam {

namespace {

// T.
absl::Duration Timeout(const ConnectPace::Terms& terms) {
  return std::clamp(terms.session_timeout, absl::Seconds(1), absl::Seconds(40));
}

}  // namespace

absl::Duration ConnectPace::Grown(absl::Duration first, const Terms& terms) const {
  const int doublings = 2 * (late_ / Round(terms.servers));  // two a round
  return base::Doubled(first, std::max(first, 2 * Timeout(terms) / 3), doublings);
}

bool ConnectPace::MaySaveLease(const Terms& terms, base::BootTime now) const {
  return terms.resumes && (failures_ == 0 || now - first_failed_ < Timeout(terms) / 2);
}

absl::Duration ConnectPace::ConnectLimit(const Terms& terms, base::BootTime now) const {
  if (!MaySaveLease(terms, now)) return AttemptLimit(terms, now);
  const absl::Duration first = Timeout(terms) / 20;
  return Grown(std::clamp(first, absl::Milliseconds(300), absl::Seconds(1)), terms);
}

absl::Duration ConnectPace::AttemptLimit(const Terms& terms, base::BootTime now) const {
  const absl::Duration t = Timeout(terms);
  const absl::Duration first = MaySaveLease(terms, now) ? std::max(t / 8, absl::Milliseconds(400))
                                                        : std::max(t / 3, absl::Seconds(1));
  return Grown(std::min(first, absl::Seconds(5)), terms);
}

absl::Duration ConnectPace::PauseLimit(const Terms& terms, base::BootTime now) const {
  const absl::Duration t = Timeout(terms);
  // While the session may still live, attempts are worth more than a rest for the servers.
  const bool may_save_session = failures_ == 0 || now - first_failed_ < t;
  return base::Doubled(t / 50, may_save_session ? t / 10 : t / 3, failures_);
}

void ConnectPace::Failed(const Terms& terms, base::BootTime now, bool late, uint64_t random_bits) {
  // As it was before this failure: the count grows only below.
  const absl::Duration limit = PauseLimit(terms, now);
  if (late) ++late_;
  if (failures_ == 0) first_failed_ = now;
  // A whole fleet fails in the same instant: the first pause may be none, so that some clients are
  // back at once; later ones have a least length, so that a server that is down is left alone.
  next_attempt_ = now + (failures_ == 0 ? base::AnyUpTo(limit, random_bits)
                                        : base::Jittered(limit, random_bits));
  ++failures_;
}

void ConnectPace::Answered(const Terms& terms, base::BootTime now) {
  if (failures_ > 0 && now - connected_ >= Timeout(terms) / 10) *this = ConnectPace();
}

}  // namespace zkrecipes::zk::inline seam

// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/doctor/timeouts.h"

#include <algorithm>

#include "zkrecipes/lease_options.h"

namespace zkrecipes::zkr::doctor {
namespace {

template <typename T>
void KeepMost(std::optional<T>& most, const std::optional<T>& next) {
  if (next.has_value()) most = most.has_value() ? std::max(*most, *next) : *next;
}

Grants Least(const Grants& a, const Grants& b) {
  return {std::min(a.asked, b.asked), std::min(a.least, b.least), std::min(a.longest, b.longest)};
}

}  // namespace

Timeouts TimeoutsIn(const Facts& facts) {
  Timeouts t{.asked = facts.asked};
  for (const ServerFacts& server : facts.servers) {
    if (server.grants) t.grants = t.grants ? Least(*t.grants, *server.grants) : *server.grants;
    // Where servers differ, which is a finding of its own, the slowest one counts.
    KeepMost(t.tick, server.words.tick);
    KeepMost(t.sync_limit, server.words.sync_limit);
  }
  t.alone = std::ranges::all_of(
      facts.servers, [](const ServerFacts& server) { return server.words.mode == "standalone"; });
  if (!t.tick && t.grants) {
    t.tick = t.grants->least / 2;
    t.tick_is_inferred = true;
    t.twenty_ticks_agree = t.grants->longest == 10 * t.grants->least;
  }
  if (t.tick && t.sync_limit) t.silence = *t.sync_limit * *t.tick;
  return t;
}

LeaseLeft LeaseLeftOf(absl::Duration session_timeout) {
  const LeaseOptions options;
  const double rate = 1 + options.clock_rate_bound;
  const absl::Duration gap = session_timeout / 4 + absl::Milliseconds(100);
  const absl::Duration reserve = std::max(session_timeout / 7, absl::Milliseconds(600));
  const absl::Duration most =
      session_timeout / rate - rate * gap - session_timeout / 20 - options.slack;
  // Where the reserve is out of reach there is a proof in every fifth of the timeout.
  const absl::Duration least =
      most - reserve < session_timeout / 5 ? most - session_timeout / 5 : reserve * 3 / 4;
  const auto whole = [](absl::Duration d) {
    return std::max(absl::ZeroDuration(), absl::Trunc(d, absl::Milliseconds(1)));
  };
  return {whole(most), whole(std::min(least, reserve * 3 / 4))};
}

std::string Short(absl::Duration duration) {
  const absl::Duration unit =
      duration < absl::Seconds(1) ? absl::Milliseconds(1) : absl::Milliseconds(100);
  return absl::FormatDuration(absl::Trunc(duration, unit));
}

}  // namespace zkrecipes::zkr::doctor

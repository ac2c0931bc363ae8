// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_TIMEOUTS_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_TIMEOUTS_H_

#include <optional>
#include <string>

#include "absl/time/time.h"

#include "tools/zkr/doctor/facts.h"

namespace zkrecipes::zkr::doctor {

// What the servers' facts say about a session. Pure. nullopt: not known.
struct Timeouts {
  absl::Duration asked = {};
  std::optional<Grants> grants =
      {};  // the least of what servers grant: the one that counts (docs/lease.md)
  std::optional<absl::Duration> tick = {};
  // conf was not open: half of what a session of 1 ms is granted, which is two ticks unless
  // minSessionTimeout says otherwise.
  bool tick_is_inferred = false;
  bool twenty_ticks_agree = false;  // the longest session is ten times the shortest, as by default
  std::optional<int> sync_limit = {};  // in ticks
  bool alone = false;                  // one server that follows none has no syncLimit
  // How long a server that has fallen silent is still counted on: syncLimit ticks.
  std::optional<absl::Duration> silence = {};
};
Timeouts TimeoutsIn(const Facts& facts);

// What is left of a healthy lease with a session timeout of T, by the default LeaseOptions: right after a
// proof, and just before the next (docs/lease.md, "What is left of T").
struct LeaseLeft {
  absl::Duration most;
  absl::Duration least;
};
LeaseLeft LeaseLeftOf(absl::Duration session_timeout);

// "2.2s", "500ms", "1m0s": to a tenth where there are seconds.
std::string Short(absl::Duration duration);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_TIMEOUTS_H_

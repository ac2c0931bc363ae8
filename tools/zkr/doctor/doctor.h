// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_DOCTOR_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_DOCTOR_H_

#include <string>

#include "absl/time/time.h"

#include "tools/zkr/commands/commands.h"
#include "zkrecipes/lease_options.h"

namespace zkrecipes::zkr::doctor {

// The input of --plan: a session timeout, the servers' settings, and the longest pause of a holder
// or its machine that shall cost no lease.
struct PlanInput {
  absl::Duration session_timeout = absl::Seconds(10);
  absl::Duration tick = absl::Seconds(2);
  int sync_limit = 5;
  absl::Duration pause = absl::ZeroDuration();
  LeaseOptions::Pace pace = LeaseOptions::Pace::kSteady;
  int holders = 1;  // sessions that hold leases, at the same time
};

// The consequences of an input (docs/lease.md, docs/operations.md). Pure.
struct Plan {
  absl::Duration granted;     // what servers with their default limits grant: 2 to 20 ticks
  absl::Duration lease_most;  // left right after a proof, without answers
  absl::Duration lease_least;
  // As long may all servers be silent: a client's attempts and two writes fit into what is left.
  absl::Duration silence;
  bool outlives_hung_leader;  // which its followers give up after silent_server
  double writes;              // a second, of all holders
  // The lock of a holder that has crashed or is cut off is free after a time between these.
  absl::Duration failover_least;
  absl::Duration failover_most;
  absl::Duration silent_server;  // syncLimit ticks: after that a silent leader is given up
  bool pause_fits;
  // The least timeout, in whole seconds, of which a lease outlasts the pause whenever it begins.
  absl::Duration timeout_for_pause;
  bool limits_fit;  // and it lies within 20 ticks
};
Plan PlanFor(const PlanInput& input);

std::string PlanText(const PlanInput& input);
std::string PlanJson(const PlanInput& input);

struct DoctorFlags {
  std::string path;   // empty: none
  std::string seen;   // "TOKEN" or "TOKEN@EPOCH"; empty: none
  bool plan = false;  // asks no server: what follows from the timeout and `input`
  PlanInput input;
};

// Returns zkr's exit status.
int RunDoctor(const commands::GlobalFlags& global, const DoctorFlags& flags);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_DOCTOR_H_

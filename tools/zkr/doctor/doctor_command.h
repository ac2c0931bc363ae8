// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_DOCTOR_COMMAND_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_DOCTOR_COMMAND_H_

#include <string>

#include "tools/zkr/commands/commands.h"
#include "tools/zkr/doctor/plan.h"

namespace zkrecipes::zkr::doctor {

struct DoctorFlags {
  std::string path;   // empty: none
  std::string seen;   // "TOKEN" or "TOKEN@EPOCH"; empty: none
  bool plan = false;  // asks no server: what follows from the timeout and `input`
  PlanInput input;
};

// Returns zkr's exit status. `path` is not checked yet.
int RunDoctor(const commands::GlobalFlags& global, const DoctorFlags& flags);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_DOCTOR_COMMAND_H_

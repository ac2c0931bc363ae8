// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SOAK_RUN_H_
#define ZKRECIPES_VERIFICATION_SOAK_RUN_H_

#include "absl/status/status.h"

#include "verification/soak/options.h"
#include "verification/soak/stage.h"

namespace zkrecipes::soak {

// Workers on the stage, faults one after another for as long as the options say, then rest. What is
// left of it is in `options.report`, for history::ReadRunDirectory. Blocks. An error: the run could
// not be done as it should, so nothing is known.
// REQUIRES: that directory is there and empty.
absl::Status Run(Stage& stage, const Options& options);

}  // namespace zkrecipes::soak

#endif  // ZKRECIPES_VERIFICATION_SOAK_RUN_H_

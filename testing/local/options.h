// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_LOCAL_OPTIONS_H_
#define ZKRECIPES_TESTING_LOCAL_OPTIONS_H_

#include "absl/status/status.h"

#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::testing {

// InvalidArgument that names the first option out of range and its rule. No I/O.
absl::Status CheckOptions(const LocalEnsembleOptions& options);

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_OPTIONS_H_

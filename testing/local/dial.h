// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_LOCAL_DIAL_H_
#define ZKRECIPES_TESTING_LOCAL_DIAL_H_

#include <string>

#include "absl/time/time.h"

#include "lib/base/unique_fd.h"

namespace zkrecipes::testing {

// A connection to "host:port" or "[::1]:port". Not valid, with a reason in errno, if there is none by
// `deadline`: then EINPROGRESS. Resolving a name may block longer.
base::UniqueFd Dial(const std::string& address, absl::Time deadline);

// From then on, calls on the socket fail with EAGAIN, and connect with EINPROGRESS.
void BlockUntil(absl::Time deadline, const base::UniqueFd& fd);

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_DIAL_H_

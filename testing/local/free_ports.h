// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_LOCAL_FREE_PORTS_H_
#define ZKRECIPES_TESTING_LOCAL_FREE_PORTS_H_

#include <vector>

#include "absl/status/statusor.h"

namespace zkrecipes::testing {

// `count` different TCP ports that nothing on this machine uses now, chosen at random so that two
// callers at once hardly ever choose the same. They lie below the range from which the kernel takes
// ports for outgoing connections: there a member that is down could find its port used by a client
// (one that tries to reconnect can even connect to itself) when it is started again.
// ResourceExhausted if there are not that many.
absl::StatusOr<std::vector<int>> FreePorts(int count);

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_FREE_PORTS_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_FORKED_CHILD_H_
#define ZKRECIPES_INTEGRATION_FORKED_CHILD_H_

#include <functional>

namespace zkrecipes::integration {

// Runs `child` in a forked child, which then ends by exit(), so that static destructors run. Waits
// for it and fails the test if an expectation failed there, or if it took more than a minute.
void RunInForkedChild(const std::function<void()>& child);

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_FORKED_CHILD_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_END_STATUS_H_
#define ZKRECIPES_LIB_QUEUE_END_STATUS_H_

#include <string>

#include "absl/status/status.h"

#include "lib/queue/machine/contender.h"

namespace zkrecipes::queue {

// What a user is told about a contender's end; see lock.h for the codes. `path`: as the user gave
// it.
// A busy lock is told by rivals.h.
absl::Status EndStatus(const action::Finished& finished, const std::string& path,
                       const std::string& server_path);

}  // namespace zkrecipes::queue

#endif  // ZKRECIPES_LIB_QUEUE_END_STATUS_H_

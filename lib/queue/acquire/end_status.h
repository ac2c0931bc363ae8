// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_ACQUIRE_END_STATUS_H_
#define ZKRECIPES_LIB_QUEUE_ACQUIRE_END_STATUS_H_

#include <string>

#include "absl/status/status.h"

#include "lib/queue/machine/contender.h"

namespace zkrecipes::queue::acquire {

// What a user is told about a contender's end; see lock.h for the codes. `path`: as the user gave
// it.
// A busy lock is told by rivals.h.
absl::Status EndStatus(const machine::action::Finished& finished, const std::string& path,
                       const std::string& server_path);

}  // namespace zkrecipes::queue::acquire

#endif  // ZKRECIPES_LIB_QUEUE_ACQUIRE_END_STATUS_H_

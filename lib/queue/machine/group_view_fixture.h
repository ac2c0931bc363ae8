// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_MACHINE_GROUP_VIEW_FIXTURE_H_
#define ZKRECIPES_LIB_QUEUE_MACHINE_GROUP_VIEW_FIXTURE_H_

#include <string>

#include "absl/strings/str_format.h"

namespace zkrecipes::queue::machine::grouping {

// The name of a member's node.
inline std::string Member(int number) {
  return absl::StrFormat("_c_guid%011d-member-%010d", number, number);
}

}  // namespace zkrecipes::queue::machine::grouping

#endif  // ZKRECIPES_LIB_QUEUE_MACHINE_GROUP_VIEW_FIXTURE_H_

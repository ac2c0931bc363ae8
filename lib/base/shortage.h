// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_SHORTAGE_H_
#define ZKRECIPES_LIB_BASE_SHORTAGE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace zkrecipes::base {

// Whether `error`, an errno, says that descriptors or memory have run out.
bool IsShortage(int error);

// ResourceExhausted, with the limit of this process if that is what it ran into.
absl::Status Shortage(absl::string_view what, int error);

// The errno with which this process cannot make a socket now, or 0. For calls that do not say.
int SocketShortage();

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_SHORTAGE_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_SHORTAGE_H_
#define ZKRECIPES_LIB_BASE_SHORTAGE_H_

#include <functional>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace zkrecipes::base {

// Whether `error`, an errno, says that descriptors or memory have run out.
bool IsShortage(int error);

// ResourceExhausted, with the limit of this process if that is what it ran into.
absl::Status Shortage(absl::string_view what, int error);

// The errno with which this process cannot make a socket now, or 0. For calls that do not say.
int SocketShortage();

// Runs `run` on a detached thread of the library's own, which has all signals blocked: those are
// for the threads of the program. ResourceExhausted, "cannot start <what>: ...", if there is no
// thread.
absl::StatusOr<std::thread::id> StartDetached(absl::string_view what, std::function<void()> run);

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_SHORTAGE_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_C_CLIENT_C_CLIENT_H_
#define ZKRECIPES_LIB_ZK_C_CLIENT_C_CLIENT_H_

#include <memory>

#include "absl/status/statusor.h"

#include "lib/zk/c_client/pollable.h"
#include "lib/zk/seam/handle.h"
#include "lib/zk/seam/reactor.h"

namespace zkrecipes::zk::c_client {

// A handle of our private copy of Apache's single-threaded C client, driven by the loop behind
// `reactor` and `poll_set`, which must outlive it. For the loop's thread, like everything of a
// handle. ResourceExhausted: no descriptors or memory. Internal: the C client rejects its
// arguments.
absl::StatusOr<std::unique_ptr<Handle>> OpenCHandle(const HandleOptions& options,
                                                    HandleListener* listener, Reactor* reactor,
                                                    PollSet* poll_set);

}  // namespace zkrecipes::zk::c_client

#endif  // ZKRECIPES_LIB_ZK_C_CLIENT_C_CLIENT_H_

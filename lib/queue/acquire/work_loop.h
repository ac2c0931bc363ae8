// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_ACQUIRE_WORK_LOOP_H_
#define ZKRECIPES_LIB_QUEUE_ACQUIRE_WORK_LOOP_H_

#include <memory>
#include <stop_token>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "lib/session/client/client_core.h"
#include "zkrecipes/lease.h"
#include "zkrecipes/lease_work.h"
#include "zkrecipes/wait_options.h"

namespace zkrecipes::queue::acquire {

// A blocking acquire. It owns a copy of its recipe, and with that the client: work may destroy the
// user's.
using BlockingAcquire = absl::AnyInvocable<absl::StatusOr<Lease>(const WaitOptions& wait)>;

// The loop of zkrecipes/lease_work.h, which has its contract.
absl::Status RunWork(std::shared_ptr<internal::ClientCore> core, BlockingAcquire acquire,
                     const std::stop_token& stop, LeaseWork work, RunOptions options);

}  // namespace zkrecipes::queue::acquire

#endif  // ZKRECIPES_LIB_QUEUE_ACQUIRE_WORK_LOOP_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_ACQUIRE_WORK_LOOP_H_
#define ZKRECIPES_LIB_QUEUE_ACQUIRE_WORK_LOOP_H_

#include <cstdint>
#include <memory>
#include <stop_token>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "lib/base/boot_time.h"
#include "lib/base/random.h"
#include "lib/session/client/client_core.h"
#include "zkrecipes/lease.h"
#include "zkrecipes/lease_work.h"
#include "zkrecipes/wait_options.h"

namespace zkrecipes::queue::acquire {

// A blocking acquire. It owns a copy of its recipe, and with that the client: work may destroy the
// user's.
using BlockingAcquire = absl::AnyInvocable<absl::StatusOr<Lease>(const WaitOptions& wait)>;

// Errors after which another acquire may succeed by itself. All others end a loop: a missing
// permission, say, would only be met again, and unseen.
bool MayTryAgain(const absl::Status& status);

// InvalidArgument, for `what`: limits of pauses that break a rule of RunOptions.
absl::Status CheckPauses(const char* what, absl::Duration first, absl::Duration longest);

// The pauses between the turns of one that acquires again and again: see RunOptions.
class TurnPauses {
 public:
  explicit TurnPauses(const RunOptions& options = {})
      : first_(options.first_pause), longest_(options.longest_pause) {}

  // A turn that lasted as long as a pause may last was a success: the pauses begin anew.
  bool Succeeded(absl::Duration lasted) const { return lasted >= Limit(); }
  absl::Duration After(absl::Duration lasted, uint64_t random_bits) {
    if (Succeeded(lasted)) pauses_ = 0;
    const absl::Duration pause = base::Jittered(Limit(), random_bits);
    ++pauses_;
    return pause;
  }

 private:
  absl::Duration Limit() const { return base::Doubled(first_, longest_, pauses_); }

  absl::Duration first_;
  absl::Duration longest_;
  int pauses_ = 0;
};

// Whether the node of a release that was not confirmed at `released` is gone. Its deletion went on
// in the background: with a connection, and so long after, it is gone by that, or with its session.
bool IsGoneByNow(const internal::ClientCore& core, base::BootTime released);

// The loop of zkrecipes/lease_work.h, which has its contract.
absl::Status RunWork(std::shared_ptr<internal::ClientCore> core, BlockingAcquire acquire,
                     const std::stop_token& stop, LeaseWork work, RunOptions options);

}  // namespace zkrecipes::queue::acquire

#endif  // ZKRECIPES_LIB_QUEUE_ACQUIRE_WORK_LOOP_H_

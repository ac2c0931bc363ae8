// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/own_node/own_node_writing.h"

#include <optional>
#include <utility>

#include "lib/base/one_shot.h"
#include "lib/queue/acquire/ask.h"
#include "lib/queue/acquire/async_call.h"
#include "lib/queue/listing/owner.h"
#include "lib/queue/machine/node_name.h"
#include "lib/queue/own_node/write_status.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::own_node {
namespace {

// The answer of a caller that does not wait any more.
absl::Status GivenUp(OwnNodeTurn& turn, const absl::Status& why) {
  return turn.Abandon() ? WithUncertainty(why) : why;
}

}  // namespace

std::shared_ptr<OwnNodeTurn> NewTurn(const std::shared_ptr<internal::LeaseState>& lease,
                                     const WriteJob& job, OwnNodeTurn::Done done) {
  const auto may_begin = [lease] { return lease->CheckAlive("write by"); };
  return std::make_shared<OwnNodeTurn>(
      job, may_begin, [lease, done = std::move(done)](absl::Status status) mutable {
        // First: whoever is told so finds the lease lost.
        if (absl::IsAborted(status)) lease->OnNodeGone();
        std::move(done)(std::move(status));
      });
}

absl::Status WriteOwnNode(const std::shared_ptr<internal::LeaseState>& lease, const WriteJob& job,
                          const WaitOptions& wait) {
  internal::ClientCore& core = lease->core();
  const base::BootTime deadline = core.Now() + wait.timeout;
  const auto shot = std::make_shared<base::OneShot<absl::Status>>();
  const auto turn =
      NewTurn(lease, job, [shot](absl::Status status) { shot->Set(std::move(status)); });
  lease->turns().Add(turn);
  if (std::optional<absl::Status> status = core.Await(*shot, deadline, wait.cancel)) {
    return *std::move(status);
  }
  return GivenUp(*turn, acquire::NotAnswered(core, job.what, wait, /*trouble=*/""));
}

void StartWriteOfOwnNode(const std::shared_ptr<internal::LeaseState>& lease, const WriteJob& job,
                         const WaitOptions& wait, absl::AnyInvocable<void(absl::Status) &&> done) {
  // Each knows the other, until the turn is answered.
  const auto call = std::make_shared<std::shared_ptr<acquire::AsyncCall>>();
  const auto turn = NewTurn(lease, job, [call](absl::Status status) {
    std::exchange(*call, nullptr)->Settle(std::move(status));
  });
  *call = acquire::AsyncCall::Begin(
      lease->core().shared_from_this(), wait, job.what + ": not answered in time",
      [turn, done = std::move(done)](absl::Status status) mutable {
        // Only the call itself gives these.
        const bool late = absl::IsDeadlineExceeded(status) || absl::IsCancelled(status);
        std::move(done)(late ? GivenUp(*turn, status) : std::move(status));
      });
  lease->turns().Add(turn);
}

}  // namespace zkrecipes::queue::own_node

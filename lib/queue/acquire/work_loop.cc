// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/acquire/work_loop.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace zkrecipes::queue::acquire {
namespace {

// One acquire, the work under its lease, and the release.
struct Turn {
  bool granted = false;
  absl::Status status;  // of the release if it was granted, otherwise of the acquire
};

Turn TakeTurn(const internal::ClientCore& core, BlockingAcquire& acquire,
              const std::stop_token& stop, LeaseWork& work) {
  absl::StatusOr<Lease> lease = acquire({.cancel = stop});
  if (!lease.ok()) return {.status = lease.status()};
  std::stop_source end;
  const auto request = [&end] { end.request_stop(); };
  {
    // One token for both ends. Both callbacks are gone before the lease is released below: its
    // release requests a stop of ended(), too, which the work must not take for a loss.
    const std::stop_callback on_stop(stop, request);
    const std::stop_callback on_end(lease->ended(), request);
    // The process may have stood still since the grant. end_reason() reads the clock, so it knows
    // of a loss before ended() does.
    if (!end.stop_requested() && !lease->end_reason().has_value()) work(*lease, end.get_token());
  }
  // Bounded, so that an ensemble that does not answer cannot keep the loop from going on.
  return {.granted = true,
          .status = std::move(*lease).Release({.timeout = core.session_timeout()})};
}

}  // namespace

absl::Status CheckPauses(const char* what, absl::Duration first, absl::Duration longest) {
  if (first > absl::ZeroDuration() && first <= longest && longest < absl::InfiniteDuration()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": pauses from \"", absl::FormatDuration(first), "\" to \"",
                   absl::FormatDuration(longest), "\": must be positive, finite and not shrink"));
}

bool MayTryAgain(const absl::Status& status) {
  return absl::IsAborted(status) || absl::IsUnavailable(status) ||
         absl::IsDeadlineExceeded(status) || absl::IsCancelled(status);
}

bool IsGoneByNow(const internal::ClientCore& core, base::BootTime released) {
  const base::BootTime now = core.Now();
  return now - released > 2 * core.session_timeout() && !core.reach()->CutOff(now);
}

absl::Status RunWork(std::shared_ptr<internal::ClientCore> core, BlockingAcquire acquire,
                     const std::stop_token& stop, LeaseWork work, RunOptions options) {
  if (work == nullptr) return absl::InvalidArgumentError("run: there is no work");
  absl::Status wrong = CheckPauses("run", options.first_pause, options.longest_pause);
  if (!wrong.ok()) return wrong;
  TurnPauses pauses(options);
  // Of the last release. An acquire that is given up does not change what became of that node.
  absl::Status last = absl::OkStatus();
  base::BootTime released;
  while (!stop.stop_requested()) {
    const base::BootTime began = core->Now();
    const Turn turn = TakeTurn(*core, acquire, stop, work);
    if (!turn.status.ok() && !MayTryAgain(turn.status)) return turn.status;
    if (turn.granted) {
      last = turn.status;
      released = core->Now();
    }
    if (turn.granted && options.once) return last;
    const absl::Duration pause = pauses.After(core->Now() - began, core->reactor()->Random());
    if (!core->Pause(pause, base::BootTime::InfiniteFuture(), stop)) break;
  }
  // First: a forked child that is stopped already must lock nothing.
  if (!absl::IsDeadlineExceeded(last)) return absl::OkStatus();
  return IsGoneByNow(*core, released) ? absl::OkStatus() : last;
}

}  // namespace zkrecipes::queue::acquire

// SPDX-License-Identifier: Apache-2.0

#include "testing/local/member.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

#include "testing/local/four_letter_word.h"
#include "testing/local/server_start.h"

namespace zkrecipes::testing {

using base::MutexLock;

LocalEnsemble::MemberState Member::state() {
  MutexLock lock(mutex_);
  if (process_.pid() == 0) return LocalEnsemble::MemberState::kDown;
  return process_.paused() ? LocalEnsemble::MemberState::kPaused
                           : LocalEnsemble::MemberState::kRunning;
}

pid_t Member::pid() {
  MutexLock lock(mutex_);
  return process_.pid();
}

absl::Status Member::Launch() {
  MutexLock lock(mutex_);
  return LaunchLocked();
}

absl::Status Member::CheckAlive() {
  MutexLock lock(mutex_);
  return CheckAliveLocked();
}

absl::Status Member::Stop() {
  MutexLock lock(mutex_);
  return StopLocked();
}

absl::Status Member::Kill() {
  MutexLock lock(mutex_);
  process_.Kill();
  return absl::OkStatus();
}

absl::Status Member::Pause() {
  MutexLock lock(mutex_);
  if (process_.pid() == 0) return IsDown();
  process_.Pause();
  return absl::OkStatus();
}

absl::Status Member::Resume() {
  MutexLock lock(mutex_);
  if (process_.pid() == 0) return IsDown();
  process_.Resume();
  return absl::OkStatus();
}

absl::Status Member::Restart() {
  MutexLock lock(mutex_);
  absl::Status status = StopLocked();
  if (!absl::IsDeadlineExceeded(status) && !status.ok()) return status;
  status = LaunchLocked();
  return status.ok() ? WaitForAnswer() : status;
}

absl::Status Member::LaunchLocked() {
  const absl::StatusOr<pid_t> pid = LaunchServer(options_, spec_, group_);
  if (pid.ok()) process_.Adopt(*pid);
  return pid.status();
}

absl::Status Member::CheckAliveLocked() {
  return process_.pid() != 0 ? absl::OkStatus() : CannotServe(spec_, "ended by itself");
}

absl::Status Member::StopLocked() {
  constexpr absl::Duration kPatience = absl::Seconds(10);
  if (process_.Terminate(kPatience)) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrFormat("the server at %s did not end within %s of SIGTERM and was killed",
                      spec_.Address(), absl::FormatDuration(kPatience)));
}

absl::Status Member::WaitForAnswer() {
  const absl::Time deadline = absl::Now() + options_.start_timeout;
  while (!FourLetterWord(spec_.Address(), "ruok", absl::Milliseconds(500)).ok()) {
    if (absl::Status status = CheckAliveLocked(); !status.ok()) return status;
    if (absl::Now() > deadline) {
      return absl::DeadlineExceededError(
          absl::StrFormat("the server at %s does not answer %s after its start.%s", spec_.Address(),
                          absl::FormatDuration(options_.start_timeout), LogForMessage(spec_)));
    }
    absl::SleepFor(absl::Milliseconds(25));
  }
  return absl::OkStatus();
}

absl::Status Member::IsDown() const {
  return absl::FailedPreconditionError(absl::StrCat("the server at ", spec_.Address(), " is down"));
}

}  // namespace zkrecipes::testing

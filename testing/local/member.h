// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_LOCAL_MEMBER_H_
#define ZKRECIPES_TESTING_LOCAL_MEMBER_H_

#include <sys/types.h>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"

#include "lib/base/mutex.h"
#include "testing/local/server_files.h"
#include "testing/local/server_process.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::testing {

// One server of a LocalEnsemble: its files and its process. Thread-safe; calls wait for each other.
// The methods and their errors are those of LocalEnsemble.
class Member {
 public:
  // `options` must outlive the member. The process joins `group`.
  Member(const LocalEnsembleOptions& options, ServerSpec spec, pid_t group)
      : options_(options), spec_(std::move(spec)), group_(group) {}

  const ServerSpec& spec() const { return spec_; }
  LocalEnsemble::MemberState state();
  pid_t pid();

  // Starts the process and does not wait. REQUIRES: kDown.
  absl::Status Launch();
  // Unavailable, with the last lines of its log, if the process has ended.
  absl::Status CheckAlive();

  absl::Status Stop();
  absl::Status Kill();
  absl::Status Pause();
  absl::Status Resume();
  absl::Status Restart();

 private:
  absl::Status LaunchLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckAliveLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status StopLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WaitForAnswer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status IsDown() const;

  const LocalEnsembleOptions& options_;
  const ServerSpec spec_;
  const pid_t group_;

  base::Mutex mutex_;
  ServerProcess process_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_MEMBER_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_REACH_H_
#define ZKRECIPES_LIB_SESSION_REACH_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "lib/base/mutex.h"

namespace zkrecipes::session {

// Whether one session has a connection, for other threads: it decides between DeadlineExceeded and
// Unavailable, that is, whether the ensemble could have answered at all. Thread-safe.
class Reach {
 public:
  explicit Reach(base::BootTime now) : cut_off_since_(now) {}

  // `refused`: ServerReport::MostRefuseTheSession.
  void Set(bool connected, const absl::Status& trouble, base::BootTime now, bool refused = false) {
    base::MutexLock lock(mutex_);
    trouble_ = std::string(trouble.message());
    refused_ = refused;
    if (connected) {
      cut_off_since_.reset();
    } else if (!cut_off_since_) {
      cut_off_since_ = now;
    }
  }

  // Given up at some time before, it has no connection since `now`.
  void Restart(base::BootTime now) {
    base::MutexLock lock(mutex_);
    cut_off_since_ = now;
  }

  // Why there is no connection, with what each server did; "" while there is one.
  std::string trouble() const {
    base::MutexLock lock(mutex_);
    return trouble_;
  }

  bool refused() const {
    base::MutexLock lock(mutex_);
    return refused_;
  }

  // nullopt: there is one now.
  std::optional<base::BootTime> cut_off_since() const {
    base::MutexLock lock(mutex_);
    return cut_off_since_;
  }

  // "no connection to the ensemble for 4.2s: <trouble>", without what is not known yet; nullopt
  // while there is one.
  std::optional<std::string> CutOff(base::BootTime now) const {
    base::MutexLock lock(mutex_);
    if (!cut_off_since_) return std::nullopt;
    const absl::Duration since = absl::Trunc(now - *cut_off_since_, absl::Milliseconds(100));
    std::string text = "no connection to the ensemble";
    if (since > absl::ZeroDuration()) absl::StrAppend(&text, " for ", absl::FormatDuration(since));
    if (!trouble_.empty()) absl::StrAppend(&text, ": ", trouble_);
    return text;
  }

 private:
  mutable base::Mutex mutex_;
  std::optional<base::BootTime> cut_off_since_ ABSL_GUARDED_BY(mutex_);
  std::string trouble_ ABSL_GUARDED_BY(mutex_) = "the servers' names are not resolved yet";
  bool refused_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_REACH_H_

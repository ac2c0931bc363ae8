// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_LOG_LOG_RATE_H_
#define ZKRECIPES_LIB_LOG_LOG_RATE_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "zkrecipes/log_record.h"

namespace zkrecipes::internal {

// How many records of each event may be written. A value, without a clock.
class LogRate {
 public:
  LogRate(int most, absl::Duration per) : most_(most), per_(per) {}

  // nullopt: the record is dropped. Else how many were, since the last one that was not.
  std::optional<int64_t> Pass(LogEvent event, base::BootTime now);
  // An event of which records were dropped, and may be written again.
  std::optional<LogEvent> Owed(base::BootTime now) const;

 private:
  struct Kind {
    base::BootTime until;  // of the time that has begun
    int written = 0;       // in it
    int64_t dropped = 0;   // since the last that was written
  };
  static constexpr size_t kKinds = static_cast<size_t>(LogEvent::kClient) + 1;

  const int most_;
  const absl::Duration per_;
  std::array<Kind, kKinds> kinds_;
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_LOG_LOG_RATE_H_

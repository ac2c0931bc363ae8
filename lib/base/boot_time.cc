// SPDX-License-Identifier: Apache-2.0

#include "lib/base/boot_time.h"

#include <time.h>

namespace zkrecipes::base {

BootTime BootNow() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return BootTime::SinceBoot(absl::DurationFromTimespec(now));
}

}  // namespace zkrecipes::base

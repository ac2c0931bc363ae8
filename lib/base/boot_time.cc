// SPDX-License-Identifier: Apache-2.0

#include "lib/base/boot_time.h"

#include <time.h>

namespace zkrecipes::base {

BootTime BootNow() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return BootTime::FromNanoseconds(int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec);
}

}  // namespace zkrecipes::base

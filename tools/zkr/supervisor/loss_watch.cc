// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/loss_watch.h"

#include <sys/eventfd.h>

#include <limits>

#include "absl/time/time.h"

namespace zkrecipes::zkr::supervisor {
namespace {

std::int64_t Nanoseconds(base::BootTime time) {
  return absl::ToInt64Nanoseconds(time.since_boot());
}

}  // namespace

LossWatch::LossWatch(const std::stop_token& lost)
    : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      lost_at_ns_(std::numeric_limits<std::int64_t>::max()),
      callback_(lost, [this] { OnLost(); }) {}

void LossWatch::OnLost() {
  lost_at_ns_ = Nanoseconds(base::BootNow());
  eventfd_write(event_.get(), 1);
}

void LossWatch::Take() {
  eventfd_t count = 0;
  eventfd_read(event_.get(), &count);
}

bool LossWatch::WasLostBefore(base::BootTime time) const {
  return lost_at_ns_ <= Nanoseconds(time);
}

}  // namespace zkrecipes::zkr::supervisor

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_LOSS_WATCH_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_LOSS_WATCH_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <stop_token>

#include "lib/base/boot_time.h"
#include "lib/base/unique_fd.h"

namespace zkrecipes::zkr::supervisor {

// Turns a stop_token into something that poll can wait for, and remembers when it was stopped: CMD
// may have ended before the loss although both become known at the same moment.
class LossWatch {
 public:
  explicit LossWatch(const std::stop_token& lost);

  int fd() const { return event_.get(); }  // readable from the loss until Take
  void Take();

  bool WasLostBefore(base::BootTime time) const;

 private:
  void OnLost();

  base::UniqueFd event_;
  std::atomic<std::int64_t> lost_at_ns_;
  std::stop_callback<std::function<void()>> callback_;  // last: it uses the others
};

}  // namespace zkrecipes::zkr::supervisor

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_LOSS_WATCH_H_

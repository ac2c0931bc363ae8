// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/c_client/handle_driver_fixture.h"

#include <algorithm>

#include "lib/zk/c_client/c_client.h"

namespace zkrecipes::zk::c_client {

bool HandleDriver::Round() {
  if (pollable_ != nullptr) pollable_->Drain();
  Pollable::Interest interest;
  if (pollable_ != nullptr) interest = pollable_->Prepare();
  const short ready = interest.fd < 0 ? short{0} : poll_(interest.fd, interest.events);
  const bool busy = ready != 0 || !posted_.empty() || interest.until <= now_;
  if (!busy) now_ = std::min(interest.until, now_ + absl::Milliseconds(50));
  RunPosted();
  if (ready != 0 && pollable_ != nullptr) pollable_->OnReady(ready);
  return busy;
}

void HandleDriver::RunPosted() {
  for (auto tasks = std::exchange(posted_, {}); !tasks.empty(); tasks.pop_front()) {
    std::move(tasks.front())();
  }
}

absl::StatusOr<std::unique_ptr<Handle>> HandleDriver::Open(const HandleOptions& options,
                                                           HandleListener* listener) {
  return OpenCHandle(options, listener, this, this);
}

}  // namespace zkrecipes::zk::c_client

// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/event_loop.h"

#include "lib/zk/loop/loop.h"

namespace zkrecipes {

absl::StatusOr<std::shared_ptr<EventLoop>> EventLoop::Start() {
  auto loop = internal::Loop::Start();
  if (!loop.ok()) return loop.status();
  return std::shared_ptr<EventLoop>(new EventLoop(*std::move(loop)));
}

// The thread ends once the last client of the loop has closed its handle: it may outlive this
// object.
EventLoop::~EventLoop() { loop_->Stop(); }

}  // namespace zkrecipes

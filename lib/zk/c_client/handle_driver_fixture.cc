// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/c_client/handle_driver_fixture.h"

#include <sys/stat.h>

#include <algorithm>

#include "lib/zk/c_client/c_client.h"

namespace zkrecipes::zk::c_client {

namespace {

uint64_t FileOf(int fd) {
  struct stat found {};
  return fstat(fd, &found) == 0 ? found.st_ino : 0;
}

}  // namespace

// Dies where an epoll set would not hear of the new socket, or for ever of the old one, and where a
// turn that ends with a Drain would leave the loop's thread asleep beside what is to be done.
void HandleDriver::Watch(const Pollable::Interest& next, bool touched) {
  if (watched_ >= 0 && FileOf(watched_) != file_) base::Die("a socket was closed, and nobody told");
  const bool more = (next.events & ~interest_.events) != 0;
  const bool sooner = next.until <= now_ && now_ < interest_.until;
  if (!touched && (more || sooner)) base::Die("a Drain left work, and said nothing");
  watched_ = next.fd;
  file_ = FileOf(next.fd);
  interest_ = next;
}

bool HandleDriver::Round() {
  if (pollable_ != nullptr) pollable_->Drain();
  Pollable::Interest interest;
  const bool touched = pollable_ == nullptr || pollable_->touched();
  if (pollable_ != nullptr) {
    pollable_->set_touched(false);
    interest = pollable_->Prepare();
  }
  Watch(interest, touched);
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

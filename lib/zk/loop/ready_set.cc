// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/ready_set.h"

#include <fcntl.h>

#include <cerrno>

#include "lib/zk/loop/alarm.h"

namespace zkrecipes::zk::loop {
namespace {

bool Control(const base::UniqueFd& set, int how, int fd, epoll_event event) {
  return epoll_ctl(set.get(), how, fd, &event) == 0;
}

// How many are ready; -1 after a pause: `set` was closed. Its number may be another's by now
// (EINVAL).
int Await(const base::UniqueFd& set, epoll_event* ready, int most, bool blocks) {
  const int count = epoll_wait(set.get(), ready, most, blocks ? -1 : 0);
  if (count >= 0 || errno == EINTR) return count < 0 ? 0 : count;
  TellThatOneIsClosed();
  PauseBriefly();
  return -1;
}

}  // namespace

ReadySet::ReadySet() : outer_(epoll_create1(EPOLL_CLOEXEC)), inner_(epoll_create1(EPOLL_CLOEXEC)) {
  ok_ = outer_.valid() && inner_.valid() &&
        Control(outer_, EPOLL_CTL_ADD, inner_.get(), {.events = EPOLLIN, .data = {}});
}

bool ReadySet::Put(int how, int fd, uint32_t events, void* whose) const {
  return Control(inner_, how, fd, {.events = events, .data = {.ptr = whose}});
}

std::optional<ReadySet::Ready> ReadySet::Look(bool blocks) {
  const int count = Await(inner_, ready_.data(), static_cast<int>(ready_.size()), blocks);
  if (count < 0) return std::nullopt;
  return Ready(ready_.data(), count);
}

void ReadySet::Lend() { Control(outer_, EPOLL_CTL_MOD, inner_.get(), {.events = 0, .data = {}}); }

void ReadySet::TakeBack() {
  Control(outer_, EPOLL_CTL_MOD, inner_.get(), {.events = EPOLLIN, .data = {}});
}

void ReadySet::Sleep() const {
  epoll_event ready;
  // A set that was closed is in no other any more, and would wake nobody. Look tells of it.
  if (fcntl(inner_.get(), F_GETFD) < 0) return PauseBriefly();
  Await(outer_, &ready, 1, /*blocks=*/true);
}

}  // namespace zkrecipes::zk::loop

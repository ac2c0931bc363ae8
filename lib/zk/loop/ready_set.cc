// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/ready_set.h"

#include <poll.h>

#include <cerrno>

#include "lib/base/random.h"

namespace zkrecipes::zk::loop {

ReadySet::ReadySet(absl::Duration longest_wait)
    : longest_wait_(longest_wait),
      own_number_(base::RandomBits()),
      outer_(epoll_create1(EPOLL_CLOEXEC)),
      inner_(epoll_create1(EPOLL_CLOEXEC)) {
  ok_ = outer_.valid() && inner_.valid() &&
        Control(outer_, EPOLL_CTL_ADD, inner_.get(), EPOLLIN, own_number_);
}

bool ReadySet::Control(const base::UniqueFd& set, int how, int fd, uint32_t events,
                       uint64_t number) {
  epoll_event event{.events = events, .data = {.u64 = number}};
  return !lost() && epoll_ctl(set.get(), how, fd, &event) == 0;
}

// How many are ready; -1: the set is lost.
int ReadySet::Await(const base::UniqueFd& set, absl::Span<epoll_event> ready, bool waits) {
  const auto at_most = [waits](absl::Duration longest) {
    return waits ? static_cast<int>(absl::ToInt64Milliseconds(longest)) : 0;
  };
  if (lost()) return poll(nullptr, 0, at_most(kPause)), -1;
  const int most = static_cast<int>(ready.size());
  const int count = epoll_wait(set.get(), ready.data(), most, at_most(longest_wait_));
  if (count >= 0) return count;
  if (errno == EINTR) return 0;
  Lose();
  return -1;
}

std::optional<ReadySet::Ready> ReadySet::Look(bool blocks) {
  const int count = Await(inner_, absl::MakeSpan(ready_), blocks);
  if (count < 0) return std::nullopt;
  return Ready(ready_.data(), count);
}

void ReadySet::Sleep() {
  epoll_event one;
  const int count = Await(outer_, {&one, 1}, /*waits=*/true);
  if (count > 0 && one.data.u64 != own_number_) Lose();
}

void ReadySet::Lose() {
  static std::atomic<bool> told = false;
  if (lost()) return;
  lost_ = true;
  if (told) return;
  told = base::TellOnStderr(
      "this program has closed a descriptor that is not its own; the I/O loop goes on without it, "
      "every 10 ms");
}

}  // namespace zkrecipes::zk::loop

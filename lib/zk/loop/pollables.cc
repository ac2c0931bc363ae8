// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/pollables.h"

#include <poll.h>

#include <algorithm>
#include <utility>

namespace zkrecipes::zk::loop {
namespace {

static_assert(POLLIN == EPOLLIN && POLLOUT == EPOLLOUT && POLLERR == EPOLLERR &&
              POLLHUP == EPOLLHUP);

// What is ready of a descriptor that is in no set. If not even that can be asked it is taken to be
// readable: to find nothing there does no harm.
short Ask(int fd, short events) {
  pollfd one{fd, events, 0};
  return poll(&one, 1, 0) < 0 ? static_cast<short>(events & POLLIN) : one.revents;
}

}  // namespace

void Pollables::Add(c_client::Pollable* pollable) {
  slots_.push_back(
      {.number = ++latest_, .pollable = pollable, .until = base::BootTime::InfiniteFuture()});
}

void Pollables::Remove(c_client::Pollable* pollable) {
  // The slot stays until the next Prepare: a round may be iterating over them, or have seen it in
  // the set.
  for (Slot& slot : slots_) {
    if (slot.pollable != pollable) continue;
    Forget(slot);
    slot.pollable = nullptr;
  }
}

void Pollables::Closes(int fd) {
  for (Slot& slot : slots_) {
    if (slot.fd == fd) Forget(slot);
  }
}

void Pollables::Drain(base::BootTime now) {
  for (Slot& slot : slots_) {
    if (slot.pollable == nullptr || now < slot.until) continue;
    slot.until = base::BootTime::InfiniteFuture();
    slot.drained = true;
    slot.pollable->Drain();
  }
}

bool Pollables::AnyTouched() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return slot.pollable != nullptr && slot.pollable->touched();
  });
}

void Pollables::Prepare(base::BootTime now) {
  std::erase_if(slots_, [](const Slot& slot) { return slot.pollable == nullptr; });
  for (Slot& slot : slots_) {
    if (slot.pollable == nullptr) continue;
    if (!std::exchange(slot.drained, false) && !slot.pollable->touched()) continue;
    slot.pollable->set_touched(false);
    const c_client::Pollable::Interest interest = slot.pollable->Prepare();
    slot.until = interest.until;
    // Asked about alone, and drained, every now and then.
    if (!Watch(slot, interest.fd, interest.events)) slot.until = std::min(slot.until, now + kPause);
  }
  // All slots once more, since a Prepare may have removed one, or touched one before itself.
  until_ = base::BootTime::InfiniteFuture();
  for (const Slot& slot : slots_) {
    if (slot.pollable == nullptr) continue;
    // Touched by another one's Prepare: this one comes in the next round.
    until_ = std::min(until_, slot.pollable->touched() ? base::BootTime() : slot.until);
  }
}

// False if the kernel refuses it: it has no memory, or the program has closed the set.
bool Pollables::Watch(Slot& slot, int fd, short events) {
  if (fd != slot.fd) Forget(slot);
  const bool as_before = slot.watched && events == slot.events;
  slot.fd = fd;
  slot.events = events;
  if (fd < 0 || as_before) return true;
  const auto bits = static_cast<uint32_t>(events);
  if (slot.watched) {
    set_.Change(fd, bits, slot.number);
  } else {
    slot.watched = set_.Add(fd, bits, slot.number);
  }
  return slot.watched;
}

void Pollables::Forget(Slot& slot) {
  if (std::exchange(slot.watched, false)) set_.Remove(slot.fd);
  slot.fd = -1;
}

void Pollables::Ready(const std::optional<ReadySet::Ready>& ready) {
  for (const epoll_event& event : ready.value_or(ReadySet::Ready())) {
    const uint64_t number = event.data.u64;     // not by reference: the struct is packed
    if (number == set_.own_number()) continue;  // the alarm
    const auto slot = std::ranges::find(slots_, number, &Slot::number);
    if (slot != slots_.end()) {
      Report(*slot, static_cast<short>(event.events));
    } else {
      // Of a socket that only a forked child has open, or of another's set that has got the number
      // of ours: it might be ready for ever.
      set_.Lose();
    }
  }
  for (Slot& slot : slots_) {
    if (slot.watched && ready.has_value()) continue;
    if (slot.fd >= 0) Report(slot, Ask(slot.fd, slot.events));
  }
}

void Pollables::Report(Slot& slot, short revents) {
  // Without a descriptor: removed or closed since the look.
  if (slot.fd < 0 || revents == 0) return;
  slot.until = base::BootTime();  // the next Drain reads it, whatever OnReady does
  slot.pollable->OnReady(revents);
}

}  // namespace zkrecipes::zk::loop

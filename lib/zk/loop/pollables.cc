// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/pollables.h"

#include <algorithm>
#include <utility>

namespace zkrecipes::zk::loop {

void Pollables::Add(c_client::Pollable* pollable) {
  slots_.push_back({.pollable = pollable, .until = base::BootTime::InfiniteFuture()});
}

void Pollables::Remove(c_client::Pollable* pollable) {
  // The slot stays until the next Prepare: a round may be iterating over them.
  for (Slot& slot : slots_) {
    if (slot.pollable == pollable) slot.pollable = nullptr;
  }
}

void Pollables::Drain(base::BootTime now) {
  // By index, and to the present end: a callback may add slots, which moves them.
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].pollable == nullptr || now < slots_[i].until) continue;
    slots_[i].until = base::BootTime::InfiniteFuture();
    slots_[i].drained = true;
    slots_[i].pollable->Drain();
  }
}

bool Pollables::AnyTouched() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return slot.pollable != nullptr && slot.pollable->touched();
  });
}

void Pollables::Prepare(std::vector<pollfd>& polls) {
  std::erase_if(slots_, [](const Slot& slot) { return slot.pollable == nullptr; });
  for (size_t i = 0; i < slots_.size(); ++i) {
    c_client::Pollable* const pollable = slots_[i].pollable;
    if (pollable == nullptr) continue;
    if (!std::exchange(slots_[i].drained, false) && !pollable->touched()) continue;
    pollable->set_touched(false);
    const c_client::Pollable::Interest interest = pollable->Prepare();
    slots_[i].until = interest.until;
    slots_[i].poll = {interest.fd, interest.events, 0};
  }
  // All slots once more, since a Prepare may have added one, removed one, or touched one before
  // itself.
  until_ = base::BootTime::InfiniteFuture();
  for (const Slot& slot : slots_) {
    const bool gone = slot.pollable == nullptr;
    polls.push_back(gone ? pollfd{-1, 0, 0} : slot.poll);
    if (gone) continue;
    // Touched by another one's Prepare: this one comes in the next round.
    const base::BootTime until = slot.pollable->touched() ? base::BootTime() : slot.until;
    until_ = std::min(until_, until);
  }
}

void Pollables::Ready(const std::vector<pollfd>& polls, size_t first) {
  // Slots added since the poll come after the polled ones, and none was erased: only Prepare does
  // that.
  for (size_t i = 0; i + first < polls.size(); ++i) {
    const short revents = polls[i + first].revents;
    if (revents == 0 || slots_[i].pollable == nullptr) continue;
    slots_[i].until = base::BootTime();  // the next Drain reads it, whatever OnReady does
    slots_[i].pollable->OnReady(revents);
  }
}

}  // namespace zkrecipes::zk::loop

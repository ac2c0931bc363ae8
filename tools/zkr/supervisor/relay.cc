// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <utility>

#include "tools/zkr/supervisor/signals.h"

namespace zkrecipes::zkr::supervisor {

using base::BootTime;

// A signal of an unknown sender (0) may be the copy of any: passing it on twice would end CMD's
// clean-up.
Relay::Copies::iterator Relay::Find(const SentSignal& signal, Copies& from) {
  return std::ranges::find_if(from, [&](const Noted& noted) {
    const bool may_be_one_sender =
        noted.signal.sender == signal.sender || noted.signal.sender == 0 || signal.sender == 0;
    return noted.signal.number == signal.number && may_be_one_sender;
  });
}

bool Relay::HasCopy(const SentSignal& signal) {
  return std::ranges::any_of(copies_,
                             [&](Copies& copies) { return Find(signal, copies) != copies.end(); });
}

void Relay::OnZkrs(SentSignal signal, BootTime now) {
  held_back_.push_back({signal, now});
  Settle(now);
}

void Relay::OnCopy(Witness witness, SentSignal signal, BootTime now) {
  copies_[witness].push_back({signal, now});
  Settle(now);
}

void Relay::Settle(BootTime now) {
  for (Copies& copies : copies_) {
    std::erase_if(copies, [&](const Noted& copy) { return copy.at + kRemembered <= now; });
  }
  // Each copy stands for one signal of zkr's, so it is used up.
  std::erase_if(held_back_, [&](const Noted& zkrs) {
    const auto runners = Find(zkrs.signal, copies_[kRunner]);
    const auto guards = Find(zkrs.signal, copies_[kGuard]);
    if (runners == copies_[kRunner].end() || guards == copies_[kGuard].end()) return false;
    copies_[kRunner].erase(runners);
    copies_[kGuard].erase(guards);
    return true;
  });
}

BootTime Relay::DueTime(const Noted& held_back) {
  return held_back.at + (HasCopy(held_back.signal) ? kRemembered : kTogether);
}

// The caller sends what is returned, so each signal is returned once.
std::vector<int> Relay::TakeDue(BootTime now) {
  Settle(now);
  std::vector<int> due;
  std::erase_if(held_back_, [&](const Noted& noted) {
    if (DueTime(noted) > now) return false;
    due.push_back(noted.signal.number);
    return true;
  });
  return due;
}

std::vector<int> Relay::TakeAll() {
  std::vector<int> late;
  for (const Noted& noted : std::exchange(held_back_, {})) {
    if (!HasCopy(noted.signal)) late.push_back(noted.signal.number);
  }
  return late;
}

BootTime Relay::next(BootTime now) {
  Settle(now);
  BootTime next = BootTime::InfiniteFuture();
  for (const Noted& noted : held_back_) next = std::min(next, DueTime(noted));
  return next;
}

}  // namespace zkrecipes::zkr::supervisor

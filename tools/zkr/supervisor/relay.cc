// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "tools/zkr/supervisor/signals.h"

namespace zkrecipes::zkr::supervisor {

using base::BootTime;

// A signal of an unknown sender (0) may be the copy of any: passing it on twice would end CMD's
// clean-up.
bool Relay::Match(const SentSignal& signal, std::vector<Noted>& from) {
  const auto found = std::ranges::find_if(from, [&](const Noted& noted) {
    const bool may_be_one_sender =
        noted.signal.sender == signal.sender || noted.signal.sender == 0 || signal.sender == 0;
    return noted.signal.number == signal.number && may_be_one_sender;
  });
  if (found == from.end()) return false;
  from.erase(found);
  return true;
}

void Relay::ForgetOld(BootTime now) {
  std::erase_if(own_, [&](const Noted& noted) { return noted.until <= now; });
}

void Relay::OnZkrs(SentSignal signal, BootTime now) {
  // The runner got its copy directly, so CMD got one as well: this one is dropped.
  ForgetOld(now);
  if (!Match(signal, own_)) held_back_.push_back({signal, now + kTogether});
}

void Relay::OnOwn(SentSignal signal, BootTime now) {
  // zkr's copy came first and waits: it is dropped in favour of the direct one.
  ForgetOld(now);
  if (!Match(signal, held_back_)) own_.push_back({signal, now + kRemembered});
}

// The caller sends what is returned, so each signal is returned once.
std::vector<int> Relay::TakeDue(BootTime now) {
  std::vector<int> due;
  std::erase_if(held_back_, [&](const Noted& noted) {
    if (noted.until > now) return false;
    due.push_back(noted.signal.number);
    return true;
  });
  return due;
}

BootTime Relay::next() const {
  return held_back_.empty() ? BootTime::InfiniteFuture() : held_back_.front().until;
}

}  // namespace zkrecipes::zkr::supervisor

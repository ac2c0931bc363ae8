// SPDX-License-Identifier: Apache-2.0

#include "demo/ledger.h"

namespace demo {

Ledger::Verdict Ledger::Write(int64_t token, const std::string& who) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (token < highest_) {
    ++refused_;
    return Verdict::kStale;
  }
  // One token is one owner: two names under it would be two owners at once.
  if (token == highest_ && who != owner_) ++overlaps_;
  highest_ = token;
  owner_ = who;
  ++accepted_;
  return Verdict::kAccepted;
}

int Ledger::accepted() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return accepted_;
}
int Ledger::refused() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return refused_;
}
int Ledger::overlaps() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return overlaps_;
}

}  // namespace demo

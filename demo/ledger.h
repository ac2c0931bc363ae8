// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_DEMO_LEDGER_H_
#define ZKRECIPES_DEMO_LEDGER_H_

#include <cstdint>
#include <string>

namespace demo {

// The resource that the lock guards, seen from the resource's side: it knows nothing of ZooKeeper
// and trusts no client. It remembers the highest fencing token it has seen and rejects a lower one.
class Ledger {
 public:
  // A new token begins a new owner's turn. False if a later turn has begun: then the write is
  // stale.
  bool Write(int64_t token, const std::string& who) {
    if (token < highest_) {
      ++refused_;
      return false;
    }
    // One token belongs to one owner: two names with it would be two owners at once.
    if (token == highest_ && who != owner_) ++overlaps_;
    highest_ = token;
    owner_ = who;
    ++accepted_;
    return true;
  }

  int accepted() const { return accepted_; }
  int refused() const { return refused_; }
  int overlaps() const { return overlaps_; }  // writes accepted from two owners in one turn

 private:
  int64_t highest_ = 0;
  std::string owner_;
  int accepted_ = 0;
  int refused_ = 0;
  int overlaps_ = 0;
};

}  // namespace demo

#endif  // ZKRECIPES_DEMO_LEDGER_H_

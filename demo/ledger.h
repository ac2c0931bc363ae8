// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_DEMO_LEDGER_H_
#define ZKRECIPES_DEMO_LEDGER_H_

#include <string>

#include "zkrecipes/fencing_floor.h"

namespace demo {

// The resource that the lock guards, seen from the resource's side: it knows nothing of ZooKeeper
// and trusts no client. Its floor refuses whatever is older than what it has been shown.
class Ledger {
 public:
  // A new token begins a new owner's turn. False if a later turn has begun: then the write is
  // stale.
  bool Write(const zkrecipes::FencingPass& pass, const std::string& worker) {
    const zkrecipes::FencingToken turn = floor_.exclusive;
    if (!floor_.Admit(pass).ok()) {
      ++refused_;
      return false;
    }
    // One token belongs to one owner: two names with it would be two owners at once.
    if (pass.token == turn && worker != owner_) ++overlaps_;
    owner_ = worker;
    ++accepted_;
    return true;
  }

  int accepted() const { return accepted_; }
  int refused() const { return refused_; }
  int overlaps() const { return overlaps_; }  // writes accepted from two owners in one turn

 private:
  zkrecipes::FencingFloor floor_;
  std::string owner_;
  int accepted_ = 0;
  int refused_ = 0;
  int overlaps_ = 0;
};

}  // namespace demo

#endif  // ZKRECIPES_DEMO_LEDGER_H_

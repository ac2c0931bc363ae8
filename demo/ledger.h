// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_DEMO_LEDGER_H_
#define ZKRECIPES_DEMO_LEDGER_H_

#include <cstdint>
#include <mutex>
#include <string>

namespace demo {

// The resource that the lock guards, on the resource's own side: it knows nothing of ZooKeeper and
// trusts nobody. It remembers the highest fencing token it has seen and refuses a lower one.
// Thread-safe.
class Ledger {
 public:
  enum class Verdict { kAccepted, kStale };

  // A new token begins the turn of a new owner; a write with an older one comes too late.
  Verdict Write(int64_t token, const std::string& who);

  int accepted() const;
  int refused() const;
  int overlaps() const;  // writes accepted from one owner after a later owner's turn had begun

 private:
  mutable std::mutex mutex_;
  int64_t highest_ = 0;
  std::string owner_;
  int accepted_ = 0;
  int refused_ = 0;
  int overlaps_ = 0;
};

}  // namespace demo

#endif  // ZKRECIPES_DEMO_LEDGER_H_

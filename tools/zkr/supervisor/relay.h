// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_RELAY_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_RELAY_H_

#include <vector>

#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "tools/zkr/supervisor/signals.h"

namespace zkrecipes::zkr::supervisor {

// Decides which of zkr's signals the runner passes on to CMD: each that asks it to end, once.
//
// A signal that is sent to the whole tree, as systemd's KillMode=control-group and `kill -TERM -1`
// do, reaches CMD directly, and zkr and the runner as well. Passed on, it would reach CMD twice. So
// what zkr got is held back for a moment: if the same sender's signal comes to the runner, too, or
// came shortly before, it is CMD's already.
//
// Pure: the caller says what time it is. Not thread-safe.
class Relay {
 public:
  // How far apart the processes of a tree are signalled, at most: the delay of what is passed on.
  static constexpr absl::Duration kTogether = absl::Milliseconds(100);
  // zkr may have been slow to pass on what the runner got directly.
  static constexpr absl::Duration kRemembered = absl::Seconds(2);

  void OnZkrs(SentSignal signal, base::BootTime now);  // zkr got it, and has passed it on to here
  void OnOwn(SentSignal signal, base::BootTime now);   // the runner got it

  // The signals that CMD's process group is to be sent now.
  std::vector<int> TakeDue(base::BootTime now);
  // The signals that it has not been sent and never will be, because CMD has ended.
  std::vector<int> TakeAll() { return TakeDue(base::BootTime::InfiniteFuture()); }
  // When to take again.
  base::BootTime next() const;

 private:
  struct Noted {
    SentSignal signal;
    base::BootTime until;  // of zkr's: when it is due; of the runner's: when it is forgotten
  };
  // Takes one that may be the other copy of `signal` out of `from`; false: there is none.
  static bool Match(const SentSignal& signal, std::vector<Noted>& from);

  void ForgetOld(base::BootTime now);

  std::vector<Noted> held_back_;
  std::vector<Noted> own_;
};

}  // namespace zkrecipes::zkr::supervisor

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_RELAY_H_

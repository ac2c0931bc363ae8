// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_MACHINE_SILENCE_H_
#define ZKRECIPES_LIB_SESSION_MACHINE_SILENCE_H_

#include <cstdint>

#include "absl/time/time.h"

#include "lib/base/boot_time.h"

namespace zkrecipes::session::machine {

// How long a client waits for a server that answers nothing, before it goes to the next one: a
// quarter of the time after which something is lost (a lease, or else the session), but never less
// than T/20 nor more than T/4, with T as in zk::ConnectPace.
//
//   calm --Asked--> waiting --Answered, nothing else was asked--> calm
//                      |
//                      +--- LeaveAt has passed: Left ---> patient --an answer within T/20--> calm
//
// A patient client leaves no server: if the next one is as slow, all of them may be, and going
// round helps nobody.
//
// Requests are numbered in the order of sending, across connections, and answered in that order.
// Pure: the caller says what time it is.
class Silence {
 public:
  // `began`: before the handshake, which is a touch. Earlier requests are not answered any more.
  void Connected(base::BootTime began) {
    answered_ = asked_;
    touched_ = began;
  }
  void Asked(uint64_t number, base::BootTime now);
  // `sent`: when that request was.
  void Answered(uint64_t number, base::BootTime sent, base::BootTime now, absl::Duration timeout);
  void Left() { patient_ = true; }

  // InfiniteFuture: nothing is waited for, or the client is patient. `lost`: when leases are lost
  // unless more is proven; a time that has passed: no lease matters.
  base::BootTime LeaveAt(base::BootTime lost, absl::Duration timeout) const;

 private:
  bool waiting() const { return asked_ > answered_; }

  uint64_t asked_ = 0;      // the latest number
  uint64_t answered_ = 0;   // as far as it matters
  base::BootTime since_;    // nothing was heard, if it is waiting
  base::BootTime touched_;  // the latest request that was answered, was sent
  bool patient_ = false;
};

}  // namespace zkrecipes::session::machine

#endif  // ZKRECIPES_LIB_SESSION_MACHINE_SILENCE_H_

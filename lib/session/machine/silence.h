// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_MACHINE_SILENCE_H_
#define ZKRECIPES_LIB_SESSION_MACHINE_SILENCE_H_

#include <cstdint>

#include "absl/time/time.h"

#include "lib/base/boot_time.h"

namespace zkrecipes::session::machine {

// How long a client waits for a server that answers nothing, before it goes to the next one: a
// quarter of the time after which something is lost (a lease, or else the session), but never less
// than T/20 nor more than T/4, with T as in zk::ConnectPace; and never less than twice the slowest
// answer of the last T. Once a server was left, that counts as an answer that took twice as long as
// the client had waited: the next server may be as slow, and if all of them are, going round helps
// nobody. A committed write that is answered within T/20 ends the slowness: that reads are quick
// says nothing of a disk that is slow.
//
// Requests are numbered in the order of sending, across connections, and answered in that order,
// but those that the client library refuses. Pure: the caller says what time it is.
class Silence {
 public:
  // `began`: before the handshake, which is a touch. Earlier requests are not answered any more.
  void Connected(base::BootTime began);
  // On this connection.
  void Asked(uint64_t number, base::BootTime now);
  // An answer to any request. `sent`: when that was; `committed`: by the quorum. True: it ended a
  // slowness, so LeaveAt may be sooner than it was before.
  bool Answered(uint64_t number, base::BootTime sent, base::BootTime now, absl::Duration timeout,
                bool committed);
  // A part of an answer has come.
  void Heard(base::BootTime now) { since_ = now; }
  void Left(base::BootTime now);

  bool waits() const { return waiting_ > 0; }
  // InfiniteFuture: nothing is waited for. `lost`: when leases are lost unless more is proven; a
  // time that has passed: no lease matters.
  base::BootTime LeaveAt(base::BootTime lost, absl::Duration timeout) const;

 private:
  int waiting_ = 0;         // requests of this connection
  uint64_t first_ = 0;      // of these; 0: none yet
  base::BootTime since_;    // nothing was heard, if it is waiting
  base::BootTime touched_;  // the latest request that was answered, was sent
  absl::Duration slowest_;  // answer
  base::BootTime slowest_at_;
};

}  // namespace zkrecipes::session::machine

#endif  // ZKRECIPES_LIB_SESSION_MACHINE_SILENCE_H_

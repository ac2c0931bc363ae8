// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_SESSION_ENDS_H_
#define ZKRECIPES_LIB_SESSION_SESSION_ENDS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "lib/zk/seam/handle.h"

namespace zkrecipes::session {

// Remembers how a client's sessions ended, and which nodes may be left of them. Pure.
class SessionEnds {
 public:
  // The server is asked to end the session.
  void Asked(base::BootTime now) { asked_ = now; }
  // It has ended. `confirmed`: a server says so, and therefore nothing of it is there any more.
  void Ended(bool confirmed) { confirmed_ = confirmed; }
  // The next session has begun.
  void Began(zk::SessionId id, base::BootTime now);

  bool confirmed() const { return confirmed_; }  // of the session that ended last
  // The first of a line of sessions, of which each but the last was ended at this client's request,
  // and the next one began at once: between them the servers cannot have been set back.
  zk::SessionId line() const { return line_; }

  // Of a node that has gone, or will go, with its session, of `timeout`: neither that nor its
  // deletion is confirmed. That counts until the session must be over, 1.7 timeouts after the next
  // one's beginning.
  void NotConfirmed(base::BootTime now, absl::Duration timeout);

  // The result of Close, `left` listeners of which still have a node. `trouble`: why there is no
  // connection, if there is none.
  absl::Status OfClose(base::BootTime now, absl::Duration timeout, size_t left,
                       const absl::Status& trouble) const;

 private:
  bool AreUnconfirmed(base::BootTime now) const;

  zk::SessionId line_ = 0;
  base::BootTime asked_;  // last
  bool confirmed_ = false;
  size_t unconfirmed_ = 0;                                        // nodes of NotConfirmed
  absl::Duration may_last_;                                       // the last session that had one
  base::BootTime next_began_ = base::BootTime::InfiniteFuture();  // the first session since then
};

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_SESSION_ENDS_H_

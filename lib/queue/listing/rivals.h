// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_LISTING_RIVALS_H_
#define ZKRECIPES_LIB_QUEUE_LISTING_RIVALS_H_

#include <cstddef>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include "lib/queue/machine/node_name.h"
#include "lib/session/session.h"

namespace zkrecipes::queue::listing {

// The contenders in front of one that gives up: what its user is told about them.
struct Rivals {
  size_t count = 0;
  machine::ListedNode
      head;  // the first of them: no name, it has gone; no czxid, it has not been read

  friend bool operator==(const Rivals&, const Rivals&) = default;
};

// Pure. Those in front of the node `own_name`, which may be empty: then it is at the tail.
// `ignored` is the node that an upgrade or a downgrade follows; it may be empty.
Rivals RivalsIn(const zk::Names& children, absl::string_view own_name, absl::string_view ignored);

// Pure: "held by ledger-7 (host web3, pid 4711), in the queue since 2026-11-23T14:02:11Z", since
// nothing on the server says when a waiter became the holder. What strangers wrote is escaped.
std::string Holder(const machine::ListedNode& head);

// Pure, for messages: why a wait was in vain.
std::string Describe(const Rivals& rivals);

// Pure: the answer of a try.
absl::Status BusyStatus(const std::string& path, const Rivals& rivals);

// Reads the head. `done` runs once, on the reactor; without an answer it gets what was known.
void ReadHeadOf(session::Session& session, const std::string& parent, Rivals rivals,
                absl::AnyInvocable<void(Rivals) &&> done);

}  // namespace zkrecipes::queue::listing

#endif  // ZKRECIPES_LIB_QUEUE_LISTING_RIVALS_H_

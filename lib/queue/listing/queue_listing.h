// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_LISTING_QUEUE_LISTING_H_
#define ZKRECIPES_LIB_QUEUE_LISTING_QUEUE_LISTING_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "lib/queue/call/call.h"
#include "lib/queue/machine/node_name.h"
#include "lib/session/session.h"
#include "zkrecipes/contenders.h"

namespace zkrecipes::queue::listing {

using Nodes = std::vector<machine::ListedNode>;
using Head = std::optional<machine::ListedNode>;  // of a queue; nullopt: it is empty

// Pure: describes a queue's nodes, in queue order. Nodes that are not contenders are left out.
// `candidates`: it is an election's, so ids are shown as they are, though the nodes may be named as
// a lock's.
std::vector<ContenderInfo> DescribeQueue(const Nodes& nodes, bool candidates = false);

// Lists the children of `parent`, then reads the contenders among them, all at once. `done` runs
// once, on the reactor. Nodes deleted in between are left out; one that this client may not read
// has a name alone.
void ReadQueue(session::Session& session, const std::string& parent,
               call::Done<absl::StatusOr<Nodes>> done);
// Of a group's members only.
void ReadMembers(session::Session& session, const std::string& parent,
                 call::Done<absl::StatusOr<Nodes>> done);

// ReadQueue behind a committed barrier, so the answer is no older than the question, however far
// the server lags. Unavailable: the barrier was not confirmed.
void ReadQueueNow(session::Session& session, const std::string& parent,
                  call::Done<absl::StatusOr<Nodes>> done);

// Either of the two.
using Read = void (*)(session::Session&, const std::string&, call::Done<absl::StatusOr<Nodes>>);
// Blocks until `read` is answered, and describes the nodes. `path`: the user's, InvalidArgument if
// it is none.
absl::StatusOr<std::vector<ContenderInfo>> ListQueue(internal::ClientCore& core,
                                                     const std::string& path,
                                                     const WaitOptions& wait, Read read,
                                                     bool candidates = false);

// As ReadQueue for only the first in the queue; nullopt if the queue is empty. Two requests.
void ReadHead(session::Session& session, const std::string& parent,
              call::Done<absl::StatusOr<Head>> done);

// ---- Who is in the way --------------------------------------------------------------------------

// The contenders in front of one that gives up: what its user is told about them.
struct Rivals {
  size_t count = 0;
  machine::ListedNode head;  // the first of them; no name: it has gone; no czxid: not read yet
  bool candidates = false;   // as in DescribeQueue

  friend bool operator==(const Rivals&, const Rivals&) = default;
};

// Pure. Those in front of the node `own_name`, which may be empty: then it is at the tail.
// `ignored` is the node that an upgrade or a downgrade follows; it may be empty.
Rivals RivalsIn(const zk::Names& children, absl::string_view own_name, absl::string_view ignored);

// Pure: "held by ledger-7 (host web3, pid 4711), in the queue since 2026-11-23T14:02:11Z", since
// nothing on the server says when a waiter became the holder. What strangers wrote is escaped.
std::string Holder(const machine::ListedNode& head, bool candidates = false);

// Pure, for messages: why a wait was in vain.
std::string Describe(const Rivals& rivals);

// Pure: the answer of a try; without rivals, of one that waits for a lock delay.
absl::Status BusyStatus(const std::string& path, const Rivals& rivals);

// Reads the head. `done` runs once, on the reactor; without an answer it gets what was known.
void ReadHeadOf(session::Session& session, const std::string& parent, Rivals rivals,
                call::Done<Rivals> done);

}  // namespace zkrecipes::queue::listing

#endif  // ZKRECIPES_LIB_QUEUE_LISTING_QUEUE_LISTING_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_CONTENDERS_H_
#define ZKRECIPES_CONTENDERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "zkrecipes/client.h"
#include "zkrecipes/fencing_token.h"
#include "zkrecipes/sequencer.h"
#include "zkrecipes/wait_options.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// A contender's process, as described by its node's data. A field is empty if the data lacks it.
struct OwnerInfo {
  std::string id;  // ClientOptions::owner_id; the whole text if another library wrote the node
  std::string host;
  int64_t pid = 0;
};

// One contender of a queue, as ListContenders found it.
struct ContenderInfo {
  int position = 0;  // in the queue, from 0
  GrantMode mode = GrantMode::kExclusive;
  bool holds = false;
  // These are 0, and owner and since empty, if the node's ACL does not let this client read it.
  FencingToken token = {};  // of a grant of this node
  int64_t node_czxid = 0;
  std::string node = {};  // its name, relative to the path
  int64_t session = 0;    // the session that owns it
  OwnerInfo owner = {};
  NameDialect dialect = NameDialect::kCurator;
  absl::Time since = {};  // creation time, by the server's wall clock
  int permits = 0;        // of a Semaphore's: the number that it came with; otherwise 0
  // A CachedLock's: while it is first in the queue its process may hold the lock or keep it idle,
  // which that process alone knows.
  bool stays = false;
};

// Lists the queue of a recipe's path, in order. A snapshot, which may already be stale. A path that
// does not exist has an empty queue; children that are not contenders are left out. Blocks for two
// round trips, and retries when the connection is lost.
//   InvalidArgument     the path or the timeout
//   DeadlineExceeded, Unavailable, Cancelled   not answered in time; Unavailable: without a
//                                              connection
//   PermissionDenied    the ACL does not let this client read the path
//   ResourceExhausted   the list of its children is longer than the 64 MiB that a client reads
//   Unauthenticated     the server refused the client's credentials
//   FailedPrecondition  the client is closed, or belongs to the parent process; this is its I/O
//                       thread
absl::StatusOr<std::vector<ContenderInfo>> ListContenders(Client& client, const std::string& path,
                                                          const WaitOptions& wait = {});

// Whether the grant that `sequencer` names still holds its lock, as the ensemble's quorum knows it
// at some moment during this call: for a resource that receives sequencers and can keep no floor of
// tokens. `client` may be of any process, in any namespace. Blocks for one round trip of three
// requests, one of them a write, and retries when the connection is lost. A node does not show
// whether a leader or another exclusive contender made it: the sequencer of one is taken for the
// other's, which makes no difference to what it guards.
//   InvalidArgument   the sequencer is empty, or breaks a rule of Sequencer::Parse
//   PermissionDenied  the ACL does not let this client read the node, so nothing is known
//   FailedPrecondition  also: a semaphore's, whose node's data another client has replaced
// Other errors: those of ListContenders.
absl::StatusOr<bool> CheckSequencer(Client& client, const Sequencer& sequencer,
                                    const WaitOptions& wait = {});

// Deletes the node of the contender of `path` that has this token: its lease is lost, or it leaves
// the queue. For operators: the process behind it may go on for a while. Blocks for three round
// trips, and retries when the connection is lost; after a timeout the node may have been deleted.
//   NotFound          no contender has this token; or its node cannot be read
//   PermissionDenied  the ACL forbids the deletion
// Other errors: those of ListContenders.
absl::Status BreakContender(Client& client, const std::string& path, FencingToken token,
                            const WaitOptions& wait = {});

}  // namespace zkrecipes

#endif  // ZKRECIPES_CONTENDERS_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_FENCED_REDIS_H_
#define ZKRECIPES_FENCED_REDIS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "zkrecipes/fencing_floor.h"

struct redisContext;  // hiredis'
struct redisReply;

namespace [[gnu::visibility("default")]] zkrecipes {

// Fencing in Redis 5 or later, over the caller's own hiredis connections (link zkrecipes::redis). A
// script compares the pass with a floor and runs the command in one step; replicas and the
// append-only file get both or neither.
//
//   RunFenced(context,
//             {"{ledger}:floor", {"{ledger}:balance"}, {"SET", "{ledger}:balance", "12"}}, pass);
//
// It protects from writers that use it; Redis can force others to use it only by its ACLs.
//
// A failover may lose writes, since a primary answers before its replicas have them. A promoted
// replica may lack the last writes, floor and data alike, and then admits a holder that the lost
// floor would have refused, after a newer holder got an OK. WAIT makes this rarer, but does not
// exclude it: it reports after the fact, and another replica may be promoted. A restart from a
// snapshot, or from an append-only file without `appendfsync always`, may lose writes, too. If that
// is not acceptable, keep the floor in another store. A floor must not vanish before its data: give
// it no expiry, and set maxmemory-policy to noeviction or one of volatile-*.
struct RedisCommand {
  // The key of a hash that this library writes (epoch, exclusive, shared: see FencingFloor). In a
  // cluster all keys must be in its slot: give them a common {tag}.
  std::string floor = {};
  std::vector<std::string> keys = {};     // of the command, for a cluster and for ACLs
  std::vector<std::string> command = {};  // its words
};

// Frees a reply of hiredis.
struct RedisReplyDeleter {
  void operator()(redisReply* reply) const;
};
using RedisReply = std::unique_ptr<redisReply, RedisReplyDeleter>;

// Runs the command if the pass is admitted, and returns its reply. Blocks for the server (see
// redisSetTimeout); only one thread at a time may use a connection. A lost connection raises
// SIGPIPE in hiredis: ignore that signal.
//   FailedPrecondition  stale: the message names the floor
//   InvalidArgument     the pass has no token; no floor or command is named; the keys are of
//                       different slots; Redis refuses the command: its message. The floor may have
//                       been raised
//   PermissionDenied    to this user
//   Unavailable         the connection is lost, or timed out: connect again; it is not known
//                       whether the command was run. Or the server cannot serve: it loads, is a
//                       replica, is full, or another one has the slot (MOVED)
absl::StatusOr<RedisReply> RunFenced(redisContext* context, const RedisCommand& command,
                                     const FencingPass& pass);

}  // namespace zkrecipes

#endif  // ZKRECIPES_FENCED_REDIS_H_

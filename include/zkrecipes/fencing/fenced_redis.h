// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_FENCING_FENCED_REDIS_H_
#define ZKRECIPES_FENCING_FENCED_REDIS_H_

#include <memory>

#include "absl/status/statusor.h"

#include "zkrecipes/fencing/fencing_floor.h"
#include "zkrecipes/fencing/redis_script.h"

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
//
// Integers inside an answer of several elements are rounded from 2^53 on, since a script's numbers
// are doubles.

// Frees a reply of hiredis.
struct RedisReplyDeleter {
  void operator()(redisReply* reply) const;
};
using RedisReply = std::unique_ptr<redisReply, RedisReplyDeleter>;

// Runs the command if the pass is admitted, and returns its reply. Blocks for the server (see
// redisSetTimeout); only one thread at a time may use a connection, and all replies to commands
// before must have been read. A lost connection raises SIGPIPE in hiredis: ignore that signal.
//   FailedPrecondition  stale: the message names the floor
//   InvalidArgument     the pass has no token; no floor or command is named, or the command has
//                       more than 7,900 words; replies are unread: nothing was changed. The keys
//                       are of different slots; Redis refuses the command (its message): the floor
//                       may have been raised. Inside MULTI: it is queued, and EXEC would run it
//   OutOfRange          the command was run. Its integer answer is of 2^53 or more, which a script
//                       cannot return exactly: read it by a command that answers text, such as GET
//   PermissionDenied    to this user
//   Unavailable         the connection is lost, timed out, or has another command's reply in front:
//                       connect again; it is not known whether the command was run, so repeat it
//                       only if doing it twice is harmless (SET, not INCRBY). Or the server cannot
//                       serve: it loads, is a replica, is full, or another one has the slot (MOVED)
absl::StatusOr<RedisReply> RunFenced(redisContext* context, const RedisCommand& command,
                                     const FencingPass& pass);

}  // namespace zkrecipes

#endif  // ZKRECIPES_FENCING_FENCED_REDIS_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_FENCING_REDIS_SCRIPT_H_
#define ZKRECIPES_FENCING_REDIS_SCRIPT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "zkrecipes/fencing_pass.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// Fencing in Redis for those who bring their own client, such as redis-plus-plus or hiredis'
// asynchronous calls: fenced_redis.h says what is promised. Pure text; needs no hiredis.
//
//   send(*FencedWords("EVALSHA", command, pass, tag));  // NOSCRIPT: again, as "EVAL"
//   ... reply = {tag, verdict, texts...}: compare the tag, then
//   FencedVerdict(verdict, texts, command, pass);       // OK: the answer is behind the verdict

struct RedisCommand {
  // The key of a hash that this library writes (epoch, exclusive, shared: see FencingFloor; an
  // exclusive token with a turn is TOKEN:TURN, which the script of a build that knows no turns
  // takes for no floor). In a cluster all keys must be in its slot: give them a common {tag}.
  std::string floor = {};
  std::vector<std::string> keys = {};     // of the command, for a cluster and for ACLs
  std::vector<std::string> command = {};  // its words, at most 7,900
};

// The script, which is also installed, as share/zkrecipes/fencing.lua; and its SHA-1, by which
// EVALSHA knows it once it was loaded.
std::string FencingScript();
std::string FencingScriptHash();

// The words to send. `eval` is EVAL, or EVALSHA. The tag comes back in the reply: of several
// replies on one connection it tells which is this one's.
//   InvalidArgument     the pass has no token or a turn that is none; no floor or command is named
absl::StatusOr<std::vector<std::string>> FencedWords(const std::string& eval,
                                                     const RedisCommand& command,
                                                     const FencingPass& pass,
                                                     const std::string& tag);

// The meaning of a reply, {tag, verdict, texts...}; a command's answer (verdict 1) is none of the
// texts. Errors: FailedPrecondition and OutOfRange as of RunFenced (fenced_redis.h);
// InvalidArgument with the message of Redis or the script, which refuses the command; and those of
// RedisErrorStatus.
absl::Status FencedVerdict(int64_t verdict, const std::vector<std::string>& texts,
                           const RedisCommand& command, const FencingPass& pass);

// Of an error reply of Redis, whose first word is its kind.
//   PermissionDenied    to this user
//   Unavailable         the server cannot serve: it loads, is a replica, is full, or another one
//                       has the slot (MOVED)
//   InvalidArgument     any other
absl::Status RedisErrorStatus(const std::string& error);

}  // namespace zkrecipes

#endif  // ZKRECIPES_FENCING_REDIS_SCRIPT_H_

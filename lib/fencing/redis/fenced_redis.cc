// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fenced_redis.h"

#include <hiredis/hiredis.h>

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include "lib/fencing/redis/script.h"

namespace zkrecipes {
namespace {

using fencing::redis::kRedisScript;
using fencing::redis::kRedisScriptHash;
using Words = std::vector<std::string>;

absl::string_view TextOf(const redisReply& reply) { return {reply.str, reply.len}; }

// Of an error that Redis answers with: its first word is the kind.
absl::Status RedisError(absl::string_view text) {
  const std::string message = absl::StrCat("Redis: ", text);
  for (const char* kind : {"NOPERM", "NOAUTH", "WRONGPASS"}) {
    if (absl::StartsWith(text, kind)) return absl::PermissionDeniedError(message);
  }
  for (const char* kind : {"LOADING", "READONLY", "MASTERDOWN", "NOREPLICAS", "OOM", "BUSY",
                           "MISCONF", "TRYAGAIN", "CLUSTERDOWN", "MOVED", "ASK", "UNKILLABLE"}) {
    if (absl::StartsWith(text, kind)) return absl::UnavailableError(message);
  }
  return absl::InvalidArgumentError(message);
}

// `script` is its text or its hash, as `eval` says.
absl::StatusOr<RedisReply> Evaluate(redisContext* context, const char* eval, const char* script,
                                    const RedisCommand& command, const FencingPass& pass) {
  // In the order of the script's KEYS and ARGV.
  Words words = {eval, script, absl::StrCat(command.keys.size() + 1), command.floor};
  words.insert(words.end(), command.keys.begin(), command.keys.end());
  words.push_back(absl::StrCat(pass.epoch));
  words.push_back(pass.token.ToString());
  words.push_back(pass.mode == GrantMode::kShared ? "1" : "0");
  words.insert(words.end(), command.command.begin(), command.command.end());
  std::vector<const char*> texts;
  std::vector<size_t> lengths;
  // With lengths, since a word may contain any byte.
  for (const std::string& word : words) {
    texts.push_back(word.data());
    lengths.push_back(word.size());
  }
  RedisReply reply(static_cast<redisReply*>(
      redisCommandArgv(context, static_cast<int>(words.size()), texts.data(), lengths.data())));
  // No reply: the connection is lost, maybe between the command and its answer.
  if (reply != nullptr) return reply;
  return absl::UnavailableError(
      absl::StrCat("Redis: ", context->errstr, "; not known whether the command was run"));
}

std::optional<int64_t> NumberIn(const redisReply& element) {
  int64_t number = 0;
  if (element.type != REDIS_REPLY_STRING || !absl::SimpleAtoi(TextOf(element), &number)) {
    return std::nullopt;
  }
  return number;
}

absl::Status Refusal(const redisReply& floor, const RedisCommand& command,
                     const FencingPass& pass) {
  const auto epoch = NumberIn(*floor.element[1]);
  const auto exclusive = NumberIn(*floor.element[2]);
  const auto shared = NumberIn(*floor.element[3]);
  // The rule once more, for its message. A floor that somebody else wrote may be no numbers.
  FencingFloor seen = {.epoch = epoch.value_or(0),
                       .exclusive = FencingToken(exclusive.value_or(0)),
                       .shared = FencingToken(shared.value_or(0))};
  absl::Status status = seen.Admit(pass);
  if (!status.ok() && epoch && exclusive && shared) return status;
  return absl::FailedPreconditionError(command.floor + " is not a floor: no pass is admitted");
}

absl::StatusOr<RedisReply> Read(RedisReply reply, const RedisCommand& command,
                                const FencingPass& pass) {
  if (reply->type == REDIS_REPLY_ERROR) return RedisError(TextOf(*reply));
  // Inside MULTI the server answers QUEUED, and runs the script later or never.
  const bool tells = reply->type == REDIS_REPLY_ARRAY && reply->elements > 1 &&
                     reply->element[0]->type == REDIS_REPLY_INTEGER;
  if (!tells) {
    return absl::InvalidArgumentError(
        "Redis does not answer the script: the connection is inside MULTI, or subscribed");
  }
  if (reply->element[0]->integer == 0 && reply->elements == 4) {
    return Refusal(*reply, command, pass);
  }
  // The command's own answer is taken out of the pair, which is freed without it.
  return RedisReply(std::exchange(reply->element[1], nullptr));
}

}  // namespace

void RedisReplyDeleter::operator()(redisReply* reply) const { freeReplyObject(reply); }

absl::StatusOr<RedisReply> RunFenced(redisContext* context, const RedisCommand& command,
                                     const FencingPass& pass) {
  if (command.floor.empty() || command.command.empty()) {
    return absl::InvalidArgumentError("no floor or no command is named");
  }
  // On no floor at all: whether it is a pass.
  if (absl::Status status = FencingFloor().Admit(pass); !status.ok()) return status;
  // By its hash, which is shorter to send than the script.
  absl::StatusOr<RedisReply> reply = Evaluate(context, "EVALSHA", kRedisScriptHash, command, pass);
  // A server that has restarted has forgotten it.
  if (reply.ok() && (*reply)->type == REDIS_REPLY_ERROR &&
      absl::StartsWith(TextOf(**reply), "NOSCRIPT")) {
    reply = Evaluate(context, "EVAL", kRedisScript, command, pass);
  }
  if (!reply.ok()) return reply.status();
  return Read(*std::move(reply), command, pass);
}

}  // namespace zkrecipes

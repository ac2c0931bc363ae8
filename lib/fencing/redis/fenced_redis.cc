// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fencing/fenced_redis.h"

#include <hiredis/hiredis.h>

#include <atomic>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace zkrecipes {
namespace {

absl::string_view TextOf(const redisReply& reply) { return {reply.str, reply.len}; }

// A reply that is still to be read would be taken for that of the command; behind a connection that
// is lost, none will be.
absl::Status ExpectReady(const redisContext& context) {
  if (context.err != 0) {
    return absl::UnavailableError(
        absl::StrCat("Redis: ", context.errstr, "; nothing was sent: connect again"));
  }
  const bool unsent = context.obuf != nullptr && context.obuf[0] != '\0';
  const redisReader* const reader = context.reader;
  const bool unread = reader != nullptr && reader->pos < reader->len;
  if (!unsent && !unread) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "the connection has commands appended whose replies were not read: nothing was sent");
}

absl::StatusOr<RedisReply> Send(redisContext* context, const std::vector<std::string>& words) {
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

bool IsKind(const redisReply& reply, int type, const char* text) {
  return reply.type == type && absl::StartsWith(TextOf(reply), text);
}

absl::StatusOr<RedisReply> Read(RedisReply reply, const std::string& tag,
                                const RedisCommand& command, const FencingPass& pass) {
  if (reply->type == REDIS_REPLY_ERROR) return RedisErrorStatus(std::string(TextOf(*reply)));
  if (IsKind(*reply, REDIS_REPLY_STATUS, "QUEUED")) {
    return absl::InvalidArgumentError(
        "Redis: the connection is inside MULTI: the command is queued, and EXEC would run it");
  }
  const bool own = reply->type == REDIS_REPLY_ARRAY && reply->elements > 2 &&
                   reply->element[0]->type == REDIS_REPLY_STRING &&
                   TextOf(*reply->element[0]) == tag;
  if (!own) {
    return absl::UnavailableError(
        "Redis: the reply is that of another command, since not all were read, or the connection "
        "is subscribed; not known whether the command was run: connect again");
  }
  std::vector<std::string> texts;
  for (size_t i = 2; i < reply->elements; ++i) {
    texts.push_back(std::string(TextOf(*reply->element[i])));
  }
  absl::Status status = FencedVerdict(reply->element[1]->integer, texts, command, pass);
  if (!status.ok()) return status;
  // The command's own answer is taken out of the reply, which is freed without it.
  return RedisReply(std::exchange(reply->element[2], nullptr));
}

// Unlike every other of this process, since a connection is of one.
std::string NewTag() {
  static std::atomic<int64_t> last = 0;
  return absl::StrCat("zkr", ++last);
}

}  // namespace

void RedisReplyDeleter::operator()(redisReply* reply) const { freeReplyObject(reply); }

absl::StatusOr<RedisReply> RunFenced(redisContext* context, const RedisCommand& command,
                                     const FencingPass& pass) {
  // By its hash, which is shorter to send than the script. A server that has restarted has
  // forgotten it.
  for (const char* eval : {"EVALSHA", "EVAL"}) {
    const std::string tag = NewTag();
    const auto words = FencedWords(eval, command, pass, tag);
    if (!words.ok()) return words.status();
    if (absl::Status status = ExpectReady(*context); !status.ok()) return status;
    absl::StatusOr<RedisReply> reply = Send(context, *words);
    if (!reply.ok()) return reply.status();
    if (!IsKind(**reply, REDIS_REPLY_ERROR, "NOSCRIPT")) {
      return Read(*std::move(reply), tag, command, pass);
    }
  }
  return absl::UnavailableError("Redis: it knows no script");
}

}  // namespace zkrecipes

// SPDX-License-Identifier: Apache-2.0
//
// Claims of Redis alone: scripts, answers of many kinds, and a script that it may have forgotten.

#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <signal.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "integration/resources/kinds.h"
#include "integration/servers/sockets.h"
#include "zkrecipes/fencing/fenced_redis.h"

namespace resources {
namespace {

using ::testing::HasSubstr;
using zkrecipes::FencingPass;
using zkrecipes::FencingToken;
using zkrecipes::RedisReply;
using Code = absl::StatusCode;

FencingPass PassOf(int64_t token) { return {.token = FencingToken(token)}; }

using Context = std::unique_ptr<redisContext, decltype(&redisFree)>;

class RedisTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { (void)signal(SIGPIPE, SIG_IGN); }
  void SetUp() override {
    auto started = StartRedis(/*durable=*/false);
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    context_.reset(redisConnectUnix(server_->address().c_str()));
  }

  RedisReply Do(const std::string& command) { return Do(context_.get(), command); }
  static RedisReply Do(redisContext* context, const std::string& command) {
    return RedisReply(static_cast<redisReply*>(redisCommand(context, command.c_str())));
  }
  absl::StatusOr<RedisReply> Run(const std::vector<std::string>& words, int64_t token = 5) {
    return Run(context_.get(), words, token);
  }
  static absl::StatusOr<RedisReply> Run(redisContext* context,
                                        const std::vector<std::string>& words, int64_t token) {
    return RunFenced(context, {"{a}:floor", {"{a}"}, words}, PassOf(token));
  }

  std::unique_ptr<Server> server_;
  Context context_{nullptr, &redisFree};
};

TEST_F(RedisTest, KnowsItsScriptByItsHash) {
  const RedisReply hash(static_cast<redisReply*>(
      redisCommand(context_.get(), "SCRIPT LOAD %s", zkrecipes::FencingScript().c_str())));
  EXPECT_EQ(hash->str, zkrecipes::FencingScriptHash());
}

TEST_F(RedisTest, GivesWhatTheCommandAnswers) {
  EXPECT_STREQ((*Run({"SET", "{a}", "40"}))->str, "OK");
  EXPECT_EQ((*Run({"INCRBY", "{a}", "2"}))->integer, 42);
  EXPECT_STREQ((*Run({"GET", "{a}"}))->str, "42");
  EXPECT_EQ((*Run({"GET", "{a}:none"}))->type, REDIS_REPLY_NIL);
  EXPECT_EQ((*Run({"MGET", "{a}", "{a}"}))->elements, 2u);
  EXPECT_EQ(Run({"INCRBY", "{a}", "2"}, 4).status().code(), Code::kFailedPrecondition);
  EXPECT_STREQ((*Run({"GET", "{a}"}))->str, "42");
}

TEST_F(RedisTest, WritesBytesAsTheyAre) {
  const std::string bytes("a\0b\r\n\xff", 6);
  ASSERT_TRUE(Run({"SET", "{a}", bytes}).ok());
  const auto read = Run({"GET", "{a}"});
  EXPECT_EQ(std::string((*read)->str, (*read)->len), bytes);
}

TEST_F(RedisTest, SendsItsScriptAgainToAServerThatHasForgottenIt) {
  ASSERT_TRUE(Run({"SET", "{a}", "1"}).ok());
  Do("SCRIPT FLUSH");
  EXPECT_TRUE(Run({"SET", "{a}", "2"}).ok());
  Do("SCRIPT FLUSH");
  EXPECT_EQ(Run({"SET", "{a}", "3"}, 4).status().code(), Code::kFailedPrecondition);
}

TEST_F(RedisTest, ACommandThatRedisRefusesIsAnInvalidArgument) {
  Do("RPUSH {a} x");
  const absl::Status wrong = Run({"INCRBY", "{a}", "2"}).status();
  EXPECT_EQ(wrong.code(), Code::kInvalidArgument);
  EXPECT_THAT(wrong.message(), HasSubstr("WRONGTYPE"));
  EXPECT_EQ(Run({"NOSUCH"}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Run({}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(RunFenced(context_.get(), {"", {}, {"PING"}}, PassOf(5)).status().code(),
            Code::kInvalidArgument);
}

TEST_F(RedisTest, WhatIsNoFloorAdmitsNothing) {
  Do("HSET {a}:floor epoch 0 exclusive x9999999999999999999999 shared 0");
  EXPECT_EQ(Run({"SET", "{a}", "1"}).status().code(), Code::kFailedPrecondition);
  Do("HSET {a}:floor epoch 0 exclusive 4:x shared 0");
  EXPECT_EQ(Run({"SET", "{a}", "1"}).status().code(), Code::kFailedPrecondition);
  Do("SET {a}:floor text");
  EXPECT_EQ(Run({"SET", "{a}", "1"}).status().code(), Code::kInvalidArgument);
}

TEST_F(RedisTest, ATurnIsKeptWithItsTokenAndAFloorFromBeforeTheTurnsHasNone) {
  const auto run = [&](int64_t token, int64_t turn) {
    return zkrecipes::RunFenced(context_.get(), {"{a}:floor", {"{a}"}, {"PING"}},
                                {.token = FencingToken(token), .turn = turn})
        .status();
  };
  const auto exclusive = [&] { return std::string(Do("HGET {a}:floor exclusive")->str); };
  Do("HSET {a}:floor epoch 0 exclusive 5 shared 0");
  EXPECT_EQ(run(4, 9).code(), Code::kFailedPrecondition);
  EXPECT_EQ(run(5, 3), absl::OkStatus());
  EXPECT_EQ(exclusive(), "5:3");
  EXPECT_THAT(run(5, 2).message(), HasSubstr("turn 2 of the token 5 (exclusive) is over"));
  EXPECT_EQ(run(6, 0), absl::OkStatus());
  EXPECT_EQ(exclusive(), "6") << "as before there were turns";
}

// By a client of one's own.
TEST_F(RedisTest, TheScriptRefusesATokenThatIsNone) {
  for (const char* pass : {"x 0", "-1 0", "5:3:1 0", ":3 0", "5:3 1"}) {
    const RedisReply reply(static_cast<redisReply*>(redisCommand(
        context_.get(), ("EVAL %s 1 {a}:floor 0 " + std::string(pass) + " tag PING").c_str(),
        zkrecipes::FencingScript().c_str())));
    ASSERT_EQ(reply->type, REDIS_REPLY_ARRAY) << pass << reply->str;
    EXPECT_EQ(reply->element[1]->integer, 4) << pass;
  }
  EXPECT_EQ(Do("EXISTS {a}:floor")->integer, 0);
}

TEST_F(RedisTest, InsideMultiItIsQueuedAndExecRunsIt) {
  Do("MULTI");
  const absl::Status queued = Run({"SET", "{a}", "1"}).status();
  EXPECT_EQ(queued.code(), Code::kInvalidArgument);
  EXPECT_THAT(queued.message(), HasSubstr("queued, and EXEC would run it"));
  Do("DISCARD");
  EXPECT_EQ((*Run({"GET", "{a}"}))->type, REDIS_REPLY_NIL);
}

TEST_F(RedisTest, AnIntegerThatAScriptCannotReturnIsNoAnswerThoughTheCommandWasRun) {
  Do("SET {a} 9007199254740990");
  EXPECT_EQ((*Run({"INCR", "{a}"}))->integer, 9007199254740991);
  Do("SET {a} 9007199254740992");
  const absl::Status rounded = Run({"INCR", "{a}"}).status();
  EXPECT_EQ(rounded.code(), Code::kOutOfRange) << rounded;
  EXPECT_THAT(rounded.message(), HasSubstr("the command was run"));
  EXPECT_STREQ((*Run({"GET", "{a}"}))->str, "9007199254740993");
  Do("SET {a} -9007199254740993");
  EXPECT_EQ(Run({"DECR", "{a}"}).status().code(), Code::kOutOfRange);
}

TEST_F(RedisTest, ACommandOfTooManyWordsIsRefusedBeforeTheFloorIsRaised) {
  std::vector<std::string> words(7900, "x");
  words[0] = "RPUSH", words[1] = "{a}";
  EXPECT_EQ((*Run(words, 5))->integer, 7898);
  words.resize(8500, "x");
  const absl::Status refused = Run(words, 9).status();
  EXPECT_EQ(refused.code(), Code::kInvalidArgument) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("at most 7900 words"));
  EXPECT_TRUE(Run({"LLEN", "{a}"}, 6).ok()) << "9 was not shown";
}

TEST_F(RedisTest, RepliesThatWereNotReadAreNotTakenForItsOwn) {
  ASSERT_TRUE(Run({"SET", "{a}", "six"}, 6).ok());
  ASSERT_EQ(redisAppendCommand(context_.get(), "EVAL %s 0", "return {1, 'OK'}"), REDIS_OK);
  const absl::Status unsent = Run({"SET", "{a}", "stale"}, 5).status();
  EXPECT_EQ(unsent.code(), Code::kInvalidArgument) << unsent;
  EXPECT_THAT(unsent.message(), HasSubstr("nothing was sent"));
  int done = 0;
  while (done == 0) ASSERT_EQ(redisBufferWrite(context_.get(), &done), REDIS_OK);
  const absl::Status other = Run({"SET", "{a}", "stale"}, 5).status();
  EXPECT_EQ(other.code(), Code::kUnavailable) << other;
  EXPECT_THAT(other.message(), HasSubstr("not known"));
}

TEST_F(RedisTest, AUserWithoutTheRightIsDenied) {
  Do("ACL SETUSER plain on nopass ~* +@read");
  Do("AUTH plain x");
  EXPECT_EQ(Run({"SET", "{a}", "1"}).status().code(), Code::kPermissionDenied);
}

TEST_F(RedisTest, AServerThatCannotServeAndALostConnectionAreUnavailable) {
  Do("CONFIG SET maxmemory 1");
  EXPECT_EQ(Run({"SET", "{a}", "1"}).status().code(), Code::kUnavailable);
  Do("CONFIG SET maxmemory 0");
  Do("REPLICAOF 127.0.0.1 1");
  EXPECT_EQ(Run({"SET", "{a}", "1"}).status().code(), Code::kUnavailable);
  server_.reset();
  const absl::Status lost = Run({"SET", "{a}", "1"}).status();
  EXPECT_EQ(lost.code(), Code::kUnavailable);
  EXPECT_THAT(lost.message(), HasSubstr("not known"));
  // Also with words that it will never send, which are no commands whose replies are unread.
  ASSERT_EQ(redisAppendCommand(context_.get(), "PING"), REDIS_OK);
  const absl::Status still = Run({"SET", "{a}", "1"}).status();
  EXPECT_EQ(still.code(), Code::kUnavailable) << still;
  EXPECT_THAT(still.message(), HasSubstr("connect again"));
}

// The words and verdicts, over hiredis' asynchronous calls; the test is its event loop.
TEST_F(RedisTest, AnAsynchronousClientSendsTheWordsAndReadsTheVerdict) {
  const std::unique_ptr<redisAsyncContext, decltype(&redisAsyncFree)> async(
      redisAsyncConnectUnix(server_->address().c_str()), &redisAsyncFree);
  ASSERT_EQ(async->err, 0) << async->errstr;
  const zkrecipes::RedisCommand set = {"{a}:floor", {"{a}"}, {"SET", "{a}", "x"}};
  const auto run = [&](const std::string& eval, int64_t token) -> absl::Status {
    absl::Status status = absl::UnknownError("no reply");
    const auto words = FencedWords(eval, set, PassOf(token), "tag");
    std::vector<const char*> texts;
    for (const std::string& word : *words) texts.push_back(word.c_str());
    std::function<void(const redisReply&)> read = [&](const redisReply& reply) {
      if (reply.type == REDIS_REPLY_ERROR) {
        status = zkrecipes::RedisErrorStatus(reply.str);
        return;
      }
      EXPECT_STREQ(reply.element[0]->str, "tag");
      std::vector<std::string> rest;
      for (size_t i = 2; i < reply.elements; ++i) rest.emplace_back(reply.element[i]->str);
      status = FencedVerdict(reply.element[1]->integer, rest, set, PassOf(token));
    };
    redisAsyncCommandArgv(
        async.get(),
        [](redisAsyncContext*, void* reply, void* to) {
          if (reply == nullptr) return;
          (*static_cast<std::function<void(const redisReply&)>*>(to))(
              *static_cast<redisReply*>(reply));
        },
        &read, static_cast<int>(texts.size()), texts.data(), nullptr);
    pollfd socket = {.fd = async->c.fd, .events = POLLIN | POLLOUT, .revents = 0};
    while (absl::IsUnknown(status) && poll(&socket, 1, 30000) > 0) {
      if ((socket.revents & POLLOUT) != 0) redisAsyncHandleWrite(async.get());
      if ((socket.revents & POLLIN) != 0) redisAsyncHandleRead(async.get());
      socket.events = POLLIN;
    }
    return status;
  };
  EXPECT_THAT(run("EVALSHA", 6).message(), HasSubstr("NOSCRIPT"));
  EXPECT_EQ(run("EVAL", 6), absl::OkStatus());
  EXPECT_EQ(run("EVALSHA", 6), absl::OkStatus());
  EXPECT_EQ(run("EVALSHA", 5).code(), Code::kFailedPrecondition);
}

// Holders of either mode, some of them out of date; answers that are never read, and crashes of a
// server that answers once it has written.
TEST_F(RedisTest, RandomHoldersAreAdmittedAsTheRuleSaysThroughLostAnswersAndCrashes) {
  const auto server = StartRedis(/*durable=*/true);
  ASSERT_TRUE(server.ok()) << server.status();
  const auto connect = [&] {
    return Context(redisConnectUnix((*server)->address().c_str()), &redisFree);
  };
  std::mt19937 random(35);  // NOLINT(cert-msc51-cpp)
  zkrecipes::FencingFloor model;
  Context c = connect();
  int admitted = 0, refused = 0;
  for (int i = 0; i < 1500; ++i) {
    // Beyond what a double holds exactly.
    const int64_t base = (1LL << 60) + i / 20;
    FencingPass pass = {.token = FencingToken(base + static_cast<int64_t>(random() % 9)),
                        .mode = random() % 2 == 0 ? zkrecipes::GrantMode::kShared
                                                  : zkrecipes::GrantMode::kExclusive,
                        .epoch = i / 500};
    if (pass.mode == zkrecipes::GrantMode::kExclusive) pass.turn = random() % 12;
    const zkrecipes::RedisCommand count = {"{a}:floor", {"{a}"}, {"INCR", "{a}"}};
    const bool expected = model.Admit(pass).ok();
    (expected ? admitted : refused)++;
    if (random() % 5 == 0) {
      const auto words = FencedWords("EVAL", count, pass, "");
      std::vector<const char*> texts;
      for (const std::string& word : *words) texts.push_back(word.c_str());
      redisAppendCommandArgv(c.get(), static_cast<int>(texts.size()), texts.data(), nullptr);
      int done = 0;
      while (done == 0) ASSERT_EQ(redisBufferWrite(c.get(), &done), REDIS_OK);
      pollfd socket = {.fd = c->fd, .events = POLLIN, .revents = 0};
      ASSERT_EQ(poll(&socket, 1, 30000), 1) << "the answer is there, and is never read";
      c = connect();
    } else {
      const absl::Status status = RunFenced(c.get(), count, pass).status();
      ASSERT_EQ(status.code(), expected ? Code::kOk : Code::kFailedPrecondition) << i << status;
    }
    if (i % 300 == 299) {
      ASSERT_EQ((*server)->Restart(), absl::OkStatus());
      c = connect();
    }
    const RedisReply value = Do(c.get(), "GET {a}");
    ASSERT_EQ(value->type == REDIS_REPLY_NIL ? "0" : std::string(value->str),
              absl::StrCat(admitted))
        << i;
    const RedisReply floor = Do(c.get(), "HMGET {a}:floor epoch exclusive shared");
    ASSERT_EQ(floor->element[0]->str, absl::StrCat(model.epoch)) << i;
    ASSERT_EQ(floor->element[1]->str,
              model.exclusive.ToString() + (model.turn == 0 ? "" : absl::StrCat(":", model.turn)))
        << i;
    ASSERT_EQ(floor->element[2]->str, model.shared.ToString()) << i;
  }
  EXPECT_GT(admitted, 200);
  EXPECT_GT(refused, 200);
}

// The header says so; nothing can be done about it here.
TEST_F(RedisTest, AFailoverLosesTheFloorThatTheReplicaHadNotGot) {
  const int port = zkrecipes::servers::PortOf(
      zkrecipes::servers::Listen(zkrecipes::servers::SocketAddress("127.0.0.1", 0)));
  Do("CONFIG SET repl-diskless-sync-delay 0");
  ASSERT_STREQ(Do(absl::StrCat("CONFIG SET port ", port))->str, "OK");
  const auto replica_server = StartRedis(/*durable=*/false);
  ASSERT_TRUE(replica_server.ok()) << replica_server.status();
  const Context replica(redisConnectUnix((*replica_server)->address().c_str()), &redisFree);
  Do(replica.get(), absl::StrCat("REPLICAOF 127.0.0.1 ", port));
  ASSERT_TRUE(Run({"SET", "{a}", "six"}, 6).ok());
  ASSERT_EQ(Do("WAIT 1 60000")->integer, 1);

  Do(replica.get(), "REPLICAOF NO ONE");  // a failover, while the primary is cut off
  ASSERT_TRUE(Run({"SET", "{a}", "eight"}, 8).ok());

  EXPECT_EQ(Run(replica.get(), {"GET", "{a}"}, 5).status().code(), Code::kFailedPrecondition)
      << "what it had got came with its floor";
  const auto stale = Run(replica.get(), {"GET", "{a}"}, 7);
  ASSERT_TRUE(stale.ok()) << stale.status();
  EXPECT_STREQ((*stale)->str, "six");
}

}  // namespace
}  // namespace resources

// SPDX-License-Identifier: Apache-2.0
//
// What is taken for a lock elsewhere: a key of Redis, an advisory lock of PostgreSQL. Neither has a
// deadline that its holder knows, nor a token that a resource could check.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "bench/contestant.h"

#ifdef ZKRECIPES_WITH_REDIS
#include <hiredis/hiredis.h>
#endif
#ifdef ZKRECIPES_WITH_POSTGRES
#include <libpq-fe.h>
#endif

namespace bench {
namespace {

[[noreturn, maybe_unused]] void End(const char* whose, const char* why) {
  std::fprintf(stderr, "%s: %s\n", whose, why);
  std::exit(1);
}

#ifdef ZKRECIPES_WITH_REDIS
// SET NX PX with a random value, and a script that deletes it: one round trip each. One thread.
class RedisKey : public Contestant {
 public:
  explicit RedisKey(const Place& place)
      : redis_(redisConnectUnix(place.servers.c_str()), &redisFree), key_(place.path) {
    if (redis_ == nullptr || redis_->err != 0) End("redis", "no connection");
  }
  void Acquire(Mode) override {
    Heed(redisCommand(redis_.get(), "SET %s 4711 NX PX 30000", key_.c_str()));
  }
  void Release() override {
    Heed(redisCommand(redis_.get(), "EVAL %s 1 %s 4711", kDelete, key_.c_str()));
  }

 private:
  static constexpr char kDelete[] =
      "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end";

  void Heed(void* answer) {
    auto* const reply = static_cast<redisReply*>(answer);
    if (reply == nullptr || reply->type == REDIS_REPLY_ERROR)
      End("redis", reply == nullptr ? redis_->errstr : reply->str);
    if (reply->type == REDIS_REPLY_NIL) End("redis", "the key is there");
    freeReplyObject(reply);
  }

  const std::unique_ptr<redisContext, decltype(&redisFree)> redis_;
  const std::string key_;
};
#endif

#ifdef ZKRECIPES_WITH_POSTGRES
class AdvisoryLock : public Contestant {
 public:
  explicit AdvisoryLock(const Place& place)
      : postgres_(PQconnectdb(place.servers.c_str()), &PQfinish),
        key_(std::to_string(std::hash<std::string>()(place.path) >> 1)) {
    if (PQstatus(postgres_.get()) != CONNECTION_OK)
      End("postgres", PQerrorMessage(postgres_.get()));
  }
  void Acquire(Mode) override { Ask("SELECT pg_advisory_lock($1::bigint)"); }
  void Release() override { Ask("SELECT pg_advisory_unlock($1::bigint)"); }

 private:
  void Ask(const char* command) {
    const char* const key = key_.c_str();
    PGresult* const result =
        PQexecParams(postgres_.get(), command, 1, nullptr, &key, nullptr, nullptr, 0);
    if (PQresultStatus(result) != PGRES_TUPLES_OK) End("postgres", PQresultErrorMessage(result));
    PQclear(result);
  }

  const std::unique_ptr<PGconn, decltype(&PQfinish)> postgres_;
  const std::string key_;
};
#endif

}  // namespace

#ifdef ZKRECIPES_WITH_REDIS
std::unique_ptr<Contestant> ConnectRedis(const Place& place) {
  return std::make_unique<RedisKey>(place);
}
#endif
#ifdef ZKRECIPES_WITH_POSTGRES
std::unique_ptr<Contestant> ConnectPostgres(const Place& place) {
  return std::make_unique<AdvisoryLock>(place);
}
#endif

}  // namespace bench

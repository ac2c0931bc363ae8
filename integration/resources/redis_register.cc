// SPDX-License-Identifier: Apache-2.0

#include <hiredis/hiredis.h>

#include <utility>

#include "integration/resources/kinds.h"
#include "integration/resources/private_server.h"
#include "zkrecipes/fencing/fenced_redis.h"

namespace resources {
namespace {

using Context = std::unique_ptr<redisContext, decltype(&redisFree)>;

class RedisServer final : public Server {
 public:
  RedisServer(std::unique_ptr<PrivateServer> process, bool durable)
      : process_(std::move(process)), durable_(durable) {}

  std::string address() const override { return process_->directory() + "/redis.sock"; }
  absl::Status Start() {
    return process_->Start({"/usr/bin/redis-server", "--port", "0", "--unixsocket", address(),
                            "--save", "", "--appendonly", durable_ ? "yes" : "no", "--appendfsync",
                            "always", "--dir", process_->directory()},
                           [this] { return Serves(); });
  }
  absl::Status Restart() override {
    if (!durable_) return Server::Restart();
    process_->Kill();
    return Start();
  }

 private:
  bool Serves() const {
    const Context context(redisConnectUnix(address().c_str()), &redisFree);
    const zkrecipes::RedisReply pong(static_cast<redisReply*>(redisCommand(context.get(), "PING")));
    return pong != nullptr && pong->type == REDIS_REPLY_STATUS;
  }

  const std::unique_ptr<PrivateServer> process_;
  const bool durable_;
};

class RedisRegister final : public Register {
 public:
  explicit RedisRegister(Context context) : context_(std::move(context)) {}

  absl::Status Write(const Holder& holder, const std::string& value) override {
    return zkrecipes::RunFenced(context_.get(), {"{register}:floor", {kKey}, {"SET", kKey, value}},
                                holder.pass)
        .status();
  }
  absl::Status WriteUnchecked(const std::string& value) override {
    return Run("SET %s %b", kKey, value.data(), value.size()).status();
  }
  absl::StatusOr<std::string> Read() override {
    auto reply = Run("GET %s", kKey);
    if (!reply.ok()) return reply.status();
    return std::string((*reply)->str == nullptr ? "" : (*reply)->str, (*reply)->len);
  }

 private:
  static constexpr char kKey[] = "{register}";

  template <typename... Words>
  absl::StatusOr<zkrecipes::RedisReply> Run(Words... words) {
    zkrecipes::RedisReply reply(static_cast<redisReply*>(redisCommand(context_.get(), words...)));
    if (reply == nullptr) return absl::UnavailableError(context_->errstr);
    if (reply->type == REDIS_REPLY_ERROR) return absl::InternalError(reply->str);
    return reply;
  }

  const Context context_;
};

absl::StatusOr<std::unique_ptr<Register>> ConnectRedis(const std::string& address) {
  Context context(redisConnectUnix(address.c_str()), &redisFree);
  if (context == nullptr || context->err != 0)
    return absl::UnavailableError("no Redis at " + address);
  return std::make_unique<RedisRegister>(std::move(context));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> StartRedis(bool durable) {
  auto process = PrivateServer::Make();
  if (!process.ok()) return process.status();
  auto server = std::make_unique<RedisServer>(*std::move(process), durable);
  if (absl::Status status = server->Start(); !status.ok()) return status;
  return server;
}

Kind Redis() {
  return {"redis", [] { return StartRedis(/*durable=*/true); }, &ConnectRedis};
}

}  // namespace resources

// SPDX-License-Identifier: Apache-2.0
//
// A register in ZooKeeper itself, beside the lock: a node, and GuardedWrite. Its address is
// "SERVERS/PATH" of an ensemble that another started.

#include <utility>

#include "integration/resources/kinds.h"
#include "lib/queue/call/ask.h"
#include "zkrecipes/guarded_write.h"

namespace resources {
namespace {

namespace zk = zkrecipes::zk;
using zkrecipes::Client;
using zkrecipes::WriteOp;

const zkrecipes::WaitOptions kPatience = {absl::Seconds(30)};

class ZooKeeperRegister final : public Register {
 public:
  ZooKeeperRegister(std::shared_ptr<Client> client, std::string path)
      : client_(std::move(client)), path_(std::move(path)) {}

  absl::Status Write(const Holder& holder, const std::string& value) override {
    const absl::Status status =
        zkrecipes::GuardedWrite(*holder.lease, {WriteOp::Set(path_, value)}, kPatience);
    const bool stale = absl::IsAborted(status) && !zkrecipes::MayBeWritten(status);
    return stale ? absl::FailedPreconditionError(status.message()) : status;
  }
  absl::Status WriteUnchecked(const std::string& value) override {
    return Ask(zk::SetData{path_, value, -1}).status();
  }
  // Behind a barrier: this client's server may lag behind that of the lease's client, which wrote.
  absl::StatusOr<std::string> Read() override { return Ask(zk::Get{path_}, /*barrier=*/true); }

  absl::Status Create() {
    const absl::Status status = Ask(zk::Create{path_, "", zk::CreateMode::kPersistent}).status();
    return absl::IsAlreadyExists(status) ? absl::OkStatus() : status;
  }

 private:
  // The data of the answer.
  absl::StatusOr<std::string> Ask(const zk::Request& request, bool barrier = false) {
    using Answer = absl::StatusOr<std::string>;
    const auto ask = [request, barrier](zkrecipes::session::Session& session,
                                        absl::AnyInvocable<void(Answer) &&> done) {
      if (barrier) session.Send(session.CommittedBarrier(), [](const zk::Reply&) {});
      session.Send(request, [request, done = std::move(done)](const zk::Reply& reply) mutable {
        if (reply.code == zk::Code::kOk) return std::move(done)(reply.data);
        std::move(done)(zk::ToStatus(reply.code, zk::OperationName(request), zk::PathOf(request)));
      });
    };
    return zkrecipes::queue::call::AskUntilAnswered<std::string>(
        *zkrecipes::internal::ClientAccess::Core(*client_), "the register", kPatience, ask);
  }

  const std::shared_ptr<Client> client_;
  const std::string path_;
};

absl::StatusOr<std::unique_ptr<Server>> StartNone() {
  return absl::UnimplementedError("the lock's own ensemble keeps it");
}

absl::StatusOr<std::unique_ptr<Register>> Connect(const std::string& address) {
  const size_t slash = address.find('/');
  auto client = Client::Connect({.servers = address.substr(0, slash)}, kPatience);
  if (!client.ok()) return client.status();
  auto opened = std::make_unique<ZooKeeperRegister>(*std::move(client), address.substr(slash));
  if (absl::Status status = opened->Create(); !status.ok()) return status;
  return opened;
}

}  // namespace

Kind ZooKeeper() { return {"zookeeper", StartNone, Connect}; }

}  // namespace resources

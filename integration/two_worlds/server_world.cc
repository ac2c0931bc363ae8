// SPDX-License-Identifier: Apache-2.0

#include <list>
#include <map>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/raw_client.h"
#include "integration/servers/tcp_proxy.h"
#include "integration/two_worlds/world.h"

namespace zkrecipes::integration {
namespace {

// A way from one client to each server.
using Network = std::vector<std::unique_ptr<TcpProxy>>;

class ServerWorld : public World {
 public:
  ServerWorld()
      : ensemble_(SharedEnsemble::Get()),
        root_(absl::StrFormat("/worlds-%016x", absl::Uniform<uint64_t>(random_))) {
    EXPECT_EQ(ensemble_.Heal(), absl::OkStatus());
    auto loop = internal::Loop::Start();
    EXPECT_TRUE(loop.ok()) << loop.status();
    loop_ = *std::move(loop);
    admin_ = std::make_unique<ZkSession>(loop_, ZkSession::Options{.servers = servers()});
    EXPECT_TRUE(admin_->WaitUntilConnected());
  }
  ~ServerWorld() override {
    admin_.reset();
    loop_->Stop();
  }

  const std::string& root() const override { return root_; }

  absl::StatusOr<std::shared_ptr<Client>> Connect(ClientOptions options) override {
    Network network;
    for (const std::string& server : SplitServers()) {
      network.push_back(std::make_unique<TcpProxy>(server));
    }
    const auto address = [](std::string* out, const auto& proxy) { *out += proxy->address(); };
    options.servers = absl::StrJoin(network, ",", address) + options.servers;
    auto client = Client::Connect(std::move(options), {kSoon});
    networks_.push_back(std::move(network));
    if (client.ok()) network_of_[client->get()] = &networks_.back();
    return client;
  }

  void HoldReplies(const Client& client) override {
    for (const auto& proxy : NetworkOf(client)) proxy->HoldReplies(true);
  }
  void Disconnect(const Client& client) override {
    for (const auto& proxy : NetworkOf(client)) proxy->HoldEverything(true);
    for (const auto& proxy : NetworkOf(client)) proxy->ResetAll();
  }
  void Reconnect(const Client& client) override {
    for (const auto& proxy : NetworkOf(client)) proxy->HoldEverything(false);
  }
  void Expire(const Client& client) override {
    EXPECT_TRUE(EndSession(SplitServers().front(), client.session_id()));
  }
  bool ChangeLeader() override {
    servers::Servers* members = ensemble_.members();
    if (members == nullptr) return false;
    EXPECT_EQ(members->Kill(LeaderOf(*members)), absl::OkStatus());
    EXPECT_EQ(ensemble_.WaitForQuorum(kSoon), absl::OkStatus());
    EXPECT_EQ(ensemble_.Heal(), absl::OkStatus());
    return true;
  }

  bool Create(const std::string& path) override {
    return admin_->Do(zk::Create{path, "", zk::CreateMode::kPersistent}).code == zk::Code::kOk;
  }
  bool Delete(const std::string& path) override {
    return admin_->Do(zk::Delete{path}).code == zk::Code::kOk;
  }
  std::vector<std::string> Paths(const std::string& path) override { return Tree(*admin_, path); }
  int64_t Watches() override { return ensemble_.WatchCount().value_or(-1); }

  void Pass(absl::Duration time) override { absl::SleepFor(time); }
  absl::Duration Now() override { return base::BootNow().since_boot(); }
  bool Await(const std::function<bool()>& condition) override { return Eventually(condition); }

 private:
  const std::string& servers() const { return ensemble_.servers(); }
  std::vector<std::string> SplitServers() const { return absl::StrSplit(servers(), ','); }
  const Network& NetworkOf(const Client& client) const { return *network_of_.at(&client); }

  SharedEnsemble& ensemble_;
  absl::BitGen random_;
  const std::string root_;
  std::shared_ptr<internal::Loop> loop_;
  std::unique_ptr<ZkSession> admin_;
  std::list<Network> networks_;
  std::map<const Client*, const Network*> network_of_;
};

}  // namespace

std::unique_ptr<World> NewWorld() {
  SharedEnsemble::Options().max_session_timeout = kLongestSession;
  return std::make_unique<ServerWorld>();
}

}  // namespace zkrecipes::integration

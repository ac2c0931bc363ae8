// SPDX-License-Identifier: Apache-2.0

#include "integration/two_worlds/side.h"

#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/raw_client.h"
#include "integration/fixtures/zk_fixture.h"
#include "integration/servers/tcp_proxy.h"
#include "lib/zk/handle.h"

namespace zkrecipes::integration {
namespace {

using testing::memory::Host;
using testing::memory::Simulation;

class MemorySide : public Side, private zk::HandleListener {
 public:
  MemorySide(Simulation* simulation, const SideOptions& options)
      : simulation_(simulation), host_(simulation->AddHost()) {
    zk::HandleOptions handle;
    handle.servers = {"0", "1", "2"};
    handle.session_timeout = absl::Seconds(30);
    handle.digest_credentials = options.credentials;
    handle.acl = options.acl;
    OnHost([&] { handle_ = *host_->Open(handle, this); });
    EXPECT_TRUE(connected_);
  }
  ~MemorySide() override {
    OnHost([&] { handle_->Close(/*patient=*/true); });
    OnHost([&] { handle_.reset(); });
  }

  zk::SessionId id() const override { return id_; }

  zk::Reply Do(const zk::Request& request) override {
    std::optional<zk::Reply> reply;
    OnHost([&] { handle_->Send(request, [&](const zk::Reply& r) { reply = r; }); });
    EXPECT_TRUE(reply.has_value());
    return reply.value_or(zk::Reply());
  }

  std::vector<std::string> Events() const override { return events_; }

  void Break() override {
    host_->set_network(Host::Network::kDown);
    simulation_->RunUntilIdle();
    EXPECT_FALSE(connected_);
  }
  void Restore() override {
    host_->set_network(Host::Network::kUp);
    simulation_->RunUntil(simulation_->now() + absl::Seconds(1));
    EXPECT_TRUE(connected_);
  }
  void Expire() override {
    EXPECT_TRUE(simulation_->ensemble().Expire(id_, simulation_->now()));
    simulation_->RunUntil(simulation_->now() + absl::Seconds(1));
  }

 private:
  void OnHost(const std::function<void()>& task) {
    host_->Post([&task] { task(); });
    simulation_->RunUntilIdle();
  }

  void OnConnected(zk::SessionId session, absl::Duration, base::BootTime) override {
    connected_ = true;
    id_ = session;
  }
  void OnDisconnected(int) override { connected_ = false; }
  void OnEnded(zk::Code) override {}
  void OnWatch(const std::string& path, zk::WatchEvent event) override {
    events_.push_back(absl::StrCat(EventText(event), " ", path));
  }

  Simulation* const simulation_;
  const std::shared_ptr<Host> host_;
  std::unique_ptr<zk::Handle> handle_;
  bool connected_ = false;
  zk::SessionId id_ = 0;
  std::vector<std::string> events_;
};

class ServerSide : public Side {
 public:
  explicit ServerSide(const SideOptions& options)
      : loop_(*zk::Loop::Start()),
        session_(loop_, {.servers = proxy_.address(),
                         .timeout = absl::Seconds(30),
                         .credentials = options.credentials,
                         .acl = options.acl}) {
    EXPECT_TRUE(session_.WaitUntilConnected(++connections_));
  }
  ~ServerSide() override {
    session_.Close();
    loop_->Stop();
  }

  zk::SessionId id() const override { return session_.id(); }
  zk::Reply Do(const zk::Request& request) override { return session_.Do(request); }
  std::vector<std::string> Events() const override {
    std::vector<std::string> events;
    for (std::string& line : session_.journal().lines()) {
      const bool told = absl::StartsWith(line, "deleted /") ||
                        absl::StartsWith(line, "changed /") || absl::StartsWith(line, "data /");
      if (told) events.push_back(std::move(line));
    }
    return events;
  }

  void Break() override {
    proxy_.HoldEverything(true);
    proxy_.ResetAll();
    EXPECT_TRUE(session_.journal().WaitFor("disconnected 0", connections_));
  }
  void Restore() override {
    proxy_.HoldEverything(false);
    EXPECT_TRUE(session_.WaitUntilConnected(++connections_));
  }
  void Expire() override {
    EXPECT_TRUE(EndSession(Server(), id()));
    EXPECT_TRUE(session_.journal().WaitFor("ended ZSESSIONEXPIRED"));
  }

 private:
  static std::string Server() {
    const std::vector<std::string> servers = absl::StrSplit(SharedEnsemble::Get().servers(), ',');
    return servers.back();
  }

  TcpProxy proxy_{Server()};
  const std::shared_ptr<zk::Loop> loop_;
  mutable ZkSession session_;
  int connections_ = 0;
};

}  // namespace

std::unique_ptr<Side> NewMemorySide(Simulation* simulation, const SideOptions& options) {
  return std::make_unique<MemorySide>(simulation, options);
}

std::unique_ptr<Side> NewServerSide(const SideOptions& options) {
  return std::make_unique<ServerSide>(options);
}

}  // namespace zkrecipes::integration

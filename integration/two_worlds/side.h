// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_TWO_WORLDS_SIDE_H_
#define ZKRECIPES_INTEGRATION_TWO_WORLDS_SIDE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "integration/fixtures/raw_client.h"
#include "integration/fixtures/zk_fixture.h"
#include "integration/servers/tcp_proxy.h"
#include "lib/zk/seam/handle.h"
#include "testing/memory/simulation.h"

namespace zkrecipes::integration {

// One session at the seam of lib/zk: MemorySide's with the model, ServerSide's with a real server.
// For one thread. The destructors end the session. Both have:
//
//   Do        sends a request and returns its reply. REQUIRES: not between Break and Restore
//   Events    what the watches reported, in order: "deleted /a", "changed /a", "data /a"
//   Break     the connection is lost; Restore returns when there is one again, in the same session
//   Expire    the ensemble ends the session; the side is useless afterwards

// `simulation` must outlive it.
class MemorySide : private zk::HandleListener {
 public:
  MemorySide(const ZkSession::Options& options, testing::memory::Simulation* simulation)
      : simulation_(simulation), host_(simulation->AddHost()) {
    zk::HandleOptions handle;
    handle.servers = zk::NumericServers{"0", "1", "2"};
    handle.session_timeout = options.timeout;
    std::vector<std::string> credentials = options.credentials;
    handle.digest_credentials = base::TakeSecrets(credentials);
    handle.acl = options.acl;
    OnHost([&] { handle_ = *host_->Open(handle, this); });
    EXPECT_TRUE(connected_);
  }
  ~MemorySide() override {
    OnHost([&] { handle_->Close(); });
    OnHost([&] { handle_.reset(); });
  }

  zk::SessionId id() const { return id_; }

  zk::Reply Do(const zk::Request& request) {
    std::optional<zk::Reply> reply;
    OnHost([&] { handle_->Send(request, [&](const zk::Reply& r) { reply = r; }); });
    EXPECT_TRUE(reply.has_value());
    return reply.value_or(zk::Reply());
  }

  std::vector<std::string> Events() const { return events_; }

  void Break() {
    host_->set_network(testing::memory::Host::Network::kDown);
    simulation_->RunUntilIdle();
    EXPECT_FALSE(connected_);
  }
  void Restore() {
    host_->set_network(testing::memory::Host::Network::kUp);
    // A pause between two attempts is a tenth of the session timeout.
    simulation_->RunUntil(simulation_->now() + absl::Seconds(3));
    EXPECT_TRUE(connected_);
  }
  void Expire() {
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

  testing::memory::Simulation* const simulation_;
  const std::shared_ptr<testing::memory::Host> host_;
  std::unique_ptr<zk::Handle> handle_;
  bool connected_ = false;
  zk::SessionId id_ = 0;
  std::vector<std::string> events_;
};

class ServerSide {
 public:
  explicit ServerSide(ZkSession::Options options) {
    options.servers = proxy_.address();
    session_.emplace(loop_, options);
    EXPECT_TRUE(session_->WaitUntilConnected(++connections_));
  }
  ~ServerSide() {
    session_->Close();
    loop_->Stop();
  }

  zk::SessionId id() const { return session_->id(); }
  zk::Reply Do(const zk::Request& request) { return session_->Do(request); }
  std::vector<std::string> Events() {
    std::vector<std::string> events;
    for (std::string& line : session_->journal().lines()) {
      const bool told = absl::StartsWith(line, "deleted /") ||
                        absl::StartsWith(line, "changed /") || absl::StartsWith(line, "data /");
      if (told) events.push_back(std::move(line));
    }
    return events;
  }

  void Break() {
    proxy_.HoldEverything(true);
    proxy_.ResetAll();
    EXPECT_TRUE(session_->journal().WaitFor("disconnected 0", connections_));
  }
  void Restore() {
    proxy_.HoldEverything(false);
    EXPECT_TRUE(session_->WaitUntilConnected(++connections_));
  }
  void Expire() {
    EXPECT_TRUE(EndSession(Server(), id()));
    EXPECT_TRUE(session_->journal().WaitFor("ended ZSESSIONEXPIRED"));
  }

 private:
  static std::string Server() {
    const std::vector<std::string> servers = absl::StrSplit(SharedEnsemble::Get().servers(), ',');
    return servers.back();
  }

  TcpProxy proxy_{Server()};
  const std::shared_ptr<internal::Loop> loop_ = *internal::Loop::Start();
  std::optional<ZkSession> session_;
  int connections_ = 0;
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_TWO_WORLDS_SIDE_H_

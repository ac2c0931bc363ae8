// SPDX-License-Identifier: Apache-2.0

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/raw_client.h"
#include "integration/fixtures/tcp_proxy.h"
#include "integration/two_worlds/side.h"

namespace zkrecipes::integration {
namespace {

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

std::unique_ptr<Side> NewServerSide(const SideOptions& options) {
  return std::make_unique<ServerSide>(options);
}

}  // namespace zkrecipes::integration

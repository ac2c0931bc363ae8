// SPDX-License-Identifier: Apache-2.0
//
// What a client makes of its servers' names while it cannot connect: only an answer without any
// server that it was ever connected to means that they have moved, and ends the session.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "lib/session/client/client_options.h"
#include "recipes/lock_fixture.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::Contains;
using ::testing::Not;

class ScriptedResolver : public zk::loop::Resolver {
 public:
  void Resolve(const std::vector<zk::ServerAddress>& /*servers*/, Done done) override {
    ++questions;
    std::move(done)(answer);
  }
  zk::NumericServers answer = {"0", "1", "2"};  // as Host names them
  int questions = 0;
};

class ServersMovedTest : public LockInMemoryTest {
 protected:
  // Connected to server 0; then nothing for three session timeouts, in which the names are resolved
  // to `answer`. Returns the states that were told.
  std::vector<ClientState> StatesAfter(zk::NumericServers answer) {
    const auto host = simulation_.AddHost();
    const auto resolver = std::make_shared<ScriptedResolver>();
    internal::Environment environment{host,
                                      host,
                                      resolver,
                                      [host] { host->Stop(); },
                                      absl::Milliseconds(1),
                                      absl::ZeroDuration()};
    ClientOptions options;
    options.servers = simulation_.servers();
    options.executor = host;
    auto list = session::client::CheckClientOptions(options);
    const auto core =
        internal::ClientCore::CreateIn(std::move(environment), options, *std::move(list));
    host->set_only_server(0);
    core->Start([](const absl::Status& status) { EXPECT_EQ(status, absl::OkStatus()); });
    simulation_.RunUntilIdle();
    std::vector<ClientState> states;
    const Subscription told =
        core->feed().Subscribe([&states](ClientState state) { states.push_back(state); });
    host->set_network(Host::Network::kDown);
    resolver->answer = std::move(answer);
    PassTime(absl::Seconds(30));
    EXPECT_GT(resolver->questions, 1);
    trouble_ = core->trouble();
    return states;
  }

  std::string trouble_;  // in the end
};

TEST_F(ServersMovedTest, APartialAnswerThatHasAReachedServerIsNoMove) {
  EXPECT_THAT(StatesAfter({"0", "1"}), Not(Contains(ClientState::kExpired)));
}

TEST_F(ServersMovedTest, AnAnswerWithOtherServersBesidesIsNoMove) {
  EXPECT_THAT(StatesAfter({"0", "7", "8"}), Not(Contains(ClientState::kExpired)));
  EXPECT_EQ(trouble_, "0 refused the connection; 1 has not answered yet; 2 has not answered yet")
      << "of the servers that it goes on trying";
}

TEST_F(ServersMovedTest, AnAnswerWithoutAnyReachedServerIsAMove) {
  EXPECT_THAT(StatesAfter({"1", "2"}), Contains(ClientState::kExpired));
}

}  // namespace
}  // namespace zkrecipes::testing::memory

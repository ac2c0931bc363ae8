// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_FAULTS_SERVERS_CHANGE_FIXTURE_H_
#define ZKRECIPES_RECIPES_FAULTS_SERVERS_CHANGE_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>

#include "recipes/lock_fixture.h"

namespace zkrecipes::testing::memory {

inline constexpr absl::Duration kSoon = absl::Seconds(1);  // the session timeout is 10 s

class ServersChangeTest : public LockInMemoryTest {
 protected:
  std::unique_ptr<LockUser> StartWith(ClientOptions options) {
    auto user = std::make_unique<LockUser>();
    memory::Start(simulation_, *user, std::move(options));
    return user;
  }
  std::unique_ptr<LockUser> StartAt(const std::string& servers, bool follow_config = false) {
    return StartWith({.servers = servers, .follow_config = follow_config});
  }
  static std::string Trouble(const LockUser& user) {
    return internal::ClientAccess::Core(*user.client)->trouble();
  }
  void WriteConfig(const std::string& text) {
    (void)model().OperatorCreates("/zookeeper", {}, simulation_.now());
    if (model().OperatorCreates("/zookeeper/config", {.data = text}, simulation_.now())) return;
    EXPECT_TRUE(model().OperatorSetsData("/zookeeper/config", text));
  }
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_RECIPES_FAULTS_SERVERS_CHANGE_FIXTURE_H_

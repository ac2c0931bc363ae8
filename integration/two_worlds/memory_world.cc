// SPDX-License-Identifier: Apache-2.0

#include <cstdlib>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "integration/two_worlds/world.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::integration {
namespace {

// ZKRECIPES_TEST_VERSION: which servers the model is like; 3.8 if it is not set.
testing::ServerVersion Version() {
  const char* wanted = std::getenv("ZKRECIPES_TEST_VERSION");  // NOLINT(concurrency-mt-unsafe)
  const std::string version = wanted == nullptr ? "3.8" : wanted;
  if (version == "3.10") return testing::ServerVersion::kZooKeeper310;
  if (version == "3.9") return testing::ServerVersion::kZooKeeper39;
  EXPECT_EQ(version, "3.8") << "ZKRECIPES_TEST_VERSION is 3.8, 3.9 or 3.10";
  return testing::ServerVersion::kZooKeeper38;
}

class MemoryWorld : public World {
 public:
  const std::string& root() const override { return root_; }

  absl::StatusOr<std::shared_ptr<Client>> Connect(ClientOptions options) override {
    options.servers = ensemble_.servers() + options.servers;
    return ensemble_.Connect(std::move(options));
  }

  void HoldReplies(const Client& client) override { ensemble_.HoldReplies(client); }
  void Disconnect(const Client& client) override { ensemble_.Disconnect(client); }
  void Reconnect(const Client& client) override { ensemble_.Reconnect(client); }
  void Expire(const Client& client) override { ensemble_.Expire(client); }
  bool ChangeLeader() override {
    ensemble_.ChangeLeader();
    return true;
  }

  bool Create(const std::string& path) override { return ensemble_.Create(path); }
  bool Delete(const std::string& path) override { return ensemble_.Delete(path); }
  std::vector<std::string> Paths(const std::string& path) override { return ensemble_.Paths(path); }
  int64_t Watches() override { return static_cast<int64_t>(ensemble_.watches()); }

  void Pass(absl::Duration time) override { ensemble_.Advance(time); }
  absl::Duration Now() override { return ensemble_.Elapsed(); }
  bool Await(const std::function<bool()>& condition) override {
    const absl::Duration until = ensemble_.Elapsed() + absl::Minutes(1);
    while (!condition()) {
      if (ensemble_.Elapsed() > until) return false;
      ensemble_.Advance(absl::Milliseconds(10));
    }
    return true;
  }

 private:
  const std::string root_ = "/worlds";
  testing::InMemoryEnsemble ensemble_{{.version = Version(),
                                       .max_session_timeout = kLongestSession,
                                       .container_check_interval = absl::Seconds(1)}};
};

}  // namespace

std::unique_ptr<World> NewWorld() { return std::make_unique<MemoryWorld>(); }

}  // namespace zkrecipes::integration

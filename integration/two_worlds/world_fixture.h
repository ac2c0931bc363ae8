// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_TWO_WORLDS_WORLD_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_TWO_WORLDS_WORLD_FIXTURE_H_

#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "integration/fixtures/client_fixture.h"
#include "integration/two_worlds/world.h"
#include "zkrecipes/lock.h"

namespace zkrecipes::integration {

// With this session timeout no contender watches its own node within a test, which it does after a
// twentieth of it at the earliest.
constexpr absl::Duration kNoOwnWatches = kLongestSession;
// With this one it does after a second or two, and sees that its node was deleted.
constexpr absl::Duration kOwnWatchesSoon = absl::Seconds(20);

// Tests of the public API that hold in every world. They wait by the world's time: none of their
// calls may block for long, so they acquire locks with Pending.
class WorldTest : public ::testing::Test {
 protected:
  // `session_timeout`: of clients that do not choose one.
  explicit WorldTest(absl::Duration session_timeout = kOwnWatchesSoon)
      : session_timeout_(session_timeout), client_(NewClient()) {}

  World& world() { return *world_; }
  const std::string& path() const { return path_; }

  // Each with a network of its own.
  std::shared_ptr<Client> NewClient(ClientOptions options = {});
  template <size_t kNumber>
  std::array<std::shared_ptr<Client>, kNumber> NewClients() {
    std::array<std::shared_ptr<Client>, kNumber> clients;
    for (auto& client : clients) client = NewClient();
    return clients;
  }
  // Asks for path(): as a lock, unless the suite is one of several recipes.
  virtual Pending Ask(const std::shared_ptr<Client>& client, WaitOptions wait = {}) {
    return Pending(client, path(), std::move(wait));
  }
  Lease Acquired(const std::shared_ptr<Client>& client, const std::string& path);
  Lease Acquired(const std::shared_ptr<Client>& client) {
    Pending pending = Ask(client);
    return Granted(pending);
  }
  // Internal if none comes.
  absl::StatusOr<Lease> Answer(Pending& pending);
  absl::StatusCode Code(Pending& pending) { return Answer(pending).status().code(); }
  Lease Granted(Pending& pending);
  // Returns once the queue of path() has `place` nodes: the last is that of `pending`.
  Pending Queued(Pending pending, size_t place);
  Pending Queued(const std::shared_ptr<Client>& client, size_t place) {
    return Queued(Ask(client), place);
  }

  // Makes path() a node that stays. A container that is empty may go at any moment, and then a
  // contender's create is answered first, with NoNode, before there is a node: not in a test that
  // holds answers back.
  void KeepPath() { EXPECT_TRUE(world().Create(world().root()) && world().Create(path())); }

  // Calls on `client` after this one see all that was committed before: its server may lag.
  void CatchUp(const std::shared_ptr<Client>& client) {
    const Lease lease = Acquired(client, path() + "-barrier");
  }

  // Runs `work`, which may block, on a thread of its own, while the world's time goes on.
  template <typename Work>
  static auto Elsewhere(Work work) {
    return std::async(std::launch::async, std::move(work));
  }
  template <typename T>
  static bool Ready(const std::future<T>& future) {
    return future.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready;
  }
  template <typename T>
  T Result(std::future<T> future) {
    EXPECT_TRUE(world().Await([&] { return Ready(future); }));
    return future.get();
  }

  // The contenders' nodes, in the order of their numbers.
  std::vector<std::string> Queue();
  bool AwaitQueue(size_t size);
  bool AwaitWatches(int64_t number);
  bool AwaitState(const Lease& lease, Lease::State state);
  bool AwaitState(const States& states, ClientState last) {
    return world().Await([&] { return states.Are(last); });
  }
  void ExpectLost(Lease lease, const std::string& why);

 private:
  const std::unique_ptr<World> world_ = NewWorld();
  const std::string path_ = world_->root() + "/q";
  const absl::Duration session_timeout_;

 protected:
  std::shared_ptr<Client> client_;
};

// Suites that hold for each recipe whose leases exclude each other; a semaphore's with one permit
// do.
enum class Recipe { kLock, kElection, kSemaphore };
class RecipeTest : public WorldTest, public ::testing::WithParamInterface<Recipe> {
 protected:
  using WorldTest::WorldTest;

  Pending Ask(const std::shared_ptr<Client>& client, WaitOptions wait = {}) override;
  absl::StatusOr<Lease> Try(const std::shared_ptr<Client>& client);
};
inline const auto kRecipes =
    ::testing::Values(Recipe::kLock, Recipe::kElection, Recipe::kSemaphore);
std::string NameOf(const ::testing::TestParamInfo<Recipe>& test);

// The ten digits at the end of a node's name.
std::string Number(const std::string& node);

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_TWO_WORLDS_WORLD_FIXTURE_H_

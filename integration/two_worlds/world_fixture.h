// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_TWO_WORLDS_WORLD_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_TWO_WORLDS_WORLD_FIXTURE_H_

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "integration/fixtures/client_fixture.h"
#include "integration/two_worlds/world.h"
#include "zkrecipes/lock.h"

namespace zkrecipes::integration {

// Tests of the public API that hold in every world. They wait by the world's time: no call of
// theirs may block for long, so that locks are acquired with Pending.
class WorldTest : public ::testing::Test {
 protected:
  World& world() { return *world_; }
  const std::string& path() const { return path_; }

  // With a session timeout of 20 s unless the options say otherwise.
  std::shared_ptr<Client> NewClient(ClientOptions options = {});
  Lease Acquired(const std::shared_ptr<Client>& client, const std::string& path);
  Lease Acquired(const std::shared_ptr<Client>& client) { return Acquired(client, path()); }
  // Internal if none comes.
  absl::StatusOr<Lease> Answer(Pending& pending);
  Lease Granted(Pending& pending);
  // Queues, and returns when its node is there: the `place`th in path(), from 1.
  Pending Queued(const std::shared_ptr<Client>& client, size_t place);

  // What follows on `client`, whose server may have been behind, sees all that was committed before.
  void CatchUp(const std::shared_ptr<Client>& client) {
    const Lease lease = Acquired(client, path() + "-barrier");
  }

  // The contenders' nodes, in the order of their numbers.
  std::vector<std::string> Queue();
  bool AwaitQueue(size_t size);
  bool AwaitWatches(int64_t number);
  bool AwaitState(const Lease& lease, Lease::State state);
  void ExpectLost(Lease lease, const std::string& why);

 private:
  const std::unique_ptr<World> world_ = NewWorld();
  const std::string path_ = world_->root() + "/q";
};

// The ten digits at the end of a node's name.
std::string Number(const std::string& node);

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_TWO_WORLDS_WORLD_FIXTURE_H_

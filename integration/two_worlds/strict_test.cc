// SPDX-License-Identifier: Apache-2.0
//
// Strict mode, in every world: who comes after a holder that vanished waits the lock delay.

#include <memory>
#include <utility>

#include "integration/two_worlds/world_fixture.h"

namespace zkrecipes::integration {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;

constexpr absl::Duration kDelay = absl::Seconds(4);

class StrictInAWorld : public WorldTest {
 protected:
  std::unique_ptr<Pending> Ask(const std::shared_ptr<Client>& client) {
    return std::make_unique<Pending>(client, path(), WaitOptions{}, LockOptions{kDelay});
  }
};

TEST_F(StrictInAWorld, ThereIsNoDelayAfterARelease) {
  const auto [first, second] = NewClients<2>();
  auto holder = Ask(first);
  auto lease = std::make_unique<Lease>(Granted(*holder));
  EXPECT_THAT(world().Paths(path()), Contains(EndsWith("/zkrecipes-holder")));
  auto waiter = Ask(second);
  ASSERT_TRUE(AwaitQueue(2));
  const int64_t token = lease->token().value();
  lease.reset();
  EXPECT_GT(Granted(*waiter).token().value(), token);
}

TEST_F(StrictInAWorld, TheNextWaitsAfterAHolderWhoseSessionExpired) {
  const auto [first, second] = NewClients<2>();
  auto holder = Ask(first);
  const Lease lease = Granted(*holder);
  auto waiter = Ask(second);
  ASSERT_TRUE(AwaitQueue(2));
  world().Expire(*first);
  ASSERT_TRUE(AwaitQueue(1));
  world().Pass(kDelay / 2);
  EXPECT_FALSE(waiter->answered());
  EXPECT_TRUE(AwaitState(lease, Lease::State::kLost));
  EXPECT_GT(Granted(*waiter).token(), lease.token());
}

TEST_F(StrictInAWorld, AWaitThatIsInterruptedBeginsAnew) {
  const auto [first, second] = NewClients<2>();
  auto holder = Ask(first);
  const Lease lease = Granted(*holder);
  world().Expire(*first);
  auto waiter = Ask(second);
  world().Pass(kDelay / 2);
  EXPECT_FALSE(waiter->answered());
  world().Expire(*second);  // it is queued again, and has seen nothing yet
  world().Pass(kDelay * 3 / 4);
  EXPECT_FALSE(waiter->answered());
  EXPECT_GT(Granted(*waiter).token(), lease.token());
}

}  // namespace
}  // namespace zkrecipes::integration

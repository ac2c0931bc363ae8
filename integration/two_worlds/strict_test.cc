// SPDX-License-Identifier: Apache-2.0
//
// Strict mode, in every world: the contender behind a holder that vanished waits the lock delay.

#include <memory>
#include <optional>

#include "integration/two_worlds/world_fixture.h"

namespace zkrecipes::integration {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;

constexpr absl::Duration kDelay = absl::Seconds(4);

class StrictInAWorld : public WorldTest {
 protected:
  Pending Ask(const std::shared_ptr<Client>& client) {
    return Pending(client, path(), {}, LockOptions{kDelay});
  }
  Lease Held() {
    Pending holder = Ask(client_);
    return Granted(holder);
  }

  const std::shared_ptr<Client> other_ = NewClient();
};

TEST_F(StrictInAWorld, ThereIsNoDelayAfterARelease) {
  std::optional<Lease> lease = Held();
  EXPECT_THAT(world().Paths(path()), Contains(EndsWith("/zkrecipes-holder")));
  Pending waiter = Queued(Ask(other_), 2);
  const FencingToken token = lease->token();
  lease.reset();
  EXPECT_GT(Granted(waiter).token(), token);
}

TEST_F(StrictInAWorld, TheNextWaitsAfterAHolderWhoseSessionExpired) {
  const Lease lease = Held();
  Pending waiter = Queued(Ask(other_), 2);
  world().Expire(*client_);
  ASSERT_TRUE(AwaitQueue(1));
  world().Pass(kDelay / 2);
  EXPECT_FALSE(waiter.answered());
  EXPECT_TRUE(AwaitState(lease, Lease::State::kLost));
  EXPECT_GT(Granted(waiter).token(), lease.token());
}

TEST_F(StrictInAWorld, AWaitThatIsInterruptedBeginsAnew) {
  const Lease lease = Held();
  world().Expire(*client_);
  Pending waiter = Ask(other_);
  world().Pass(kDelay / 2);
  EXPECT_FALSE(waiter.answered());
  world().Expire(*other_);  // it is queued again, and has seen no holder yet
  world().Pass(kDelay * 3 / 4);
  EXPECT_FALSE(waiter.answered());
  EXPECT_GT(Granted(waiter).token(), lease.token());
}

}  // namespace
}  // namespace zkrecipes::integration

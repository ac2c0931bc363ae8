// SPDX-License-Identifier: Apache-2.0
//
// The lock's queue while nothing goes wrong, in every world.

#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "integration/two_worlds/world_fixture.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class QueueInAWorld : public WorldTest {
 protected:
  QueueInAWorld() : WorldTest(kNoOwnWatches) {}

  // Grants in the order of arrival, with growing tokens.
  void ExpectTurns(Lease held, std::vector<Pending>& waiting) {
    for (Pending& waiter : waiting) {
      EXPECT_FALSE(waiter.answered());
      const FencingToken token = held.token();
      EXPECT_EQ(std::move(held).Release(), absl::OkStatus());
      held = Granted(waiter);
      EXPECT_GT(held.token(), token);
    }
  }
};

TEST_F(QueueInAWorld, AGrantIsOneNodeWhoseCzxidIsTheToken) {
  Lease lease = Acquired(client_);
  EXPECT_EQ(lease.state(), Lease::State::kHeld);
  EXPECT_GT(lease.remaining(), absl::ZeroDuration());
  EXPECT_THAT(Queue(), ElementsAre(lease.node()));
  const auto contenders = ListContenders(*client_, path());
  ASSERT_THAT(*contenders, SizeIs(1));
  EXPECT_TRUE(contenders->front().holds);
  EXPECT_EQ(contenders->front().node_czxid, lease.token().value());
  EXPECT_EQ(contenders->front().session, client_->session_id());
  EXPECT_EQ(std::move(lease).Release(), absl::OkStatus());
  EXPECT_THAT(Queue(), IsEmpty());
}

TEST_F(QueueInAWorld, ClientsHaveTheirTurnsInTheOrderOfArrival) {
  auto first = NewClient();
  Lease lease = Acquired(first);
  std::vector<std::shared_ptr<Client>> clients;
  std::vector<Pending> waiting;
  for (size_t i = 0; i < 4; ++i) {
    clients.push_back(NewClient());
    waiting.push_back(Queued(clients.back(), i + 2));
  }
  ExpectTurns(std::move(lease), waiting);
}

TEST_F(QueueInAWorld, AcquiresOfOneClientHaveTheirTurnsInTheOrderOfArrival) {
  Lease lease = Acquired(client_);
  std::vector<Pending> waiting;
  for (size_t i = 0; i < 10; ++i) waiting.emplace_back(client_, path());
  ASSERT_TRUE(AwaitQueue(11));
  ExpectTurns(std::move(lease), waiting);
}

TEST_F(QueueInAWorld, EachWaiterWatchesOneNodeAndAReleaseFiresOneWatch) {
  std::vector<std::shared_ptr<Client>> clients = {NewClient()};
  std::optional<Lease> lease = Acquired(clients[0]);
  std::vector<Pending> waiting;
  for (size_t i = 0; i < 4; ++i) {
    clients.push_back(NewClient());
    waiting.push_back(Queued(clients.back(), i + 2));
  }
  EXPECT_TRUE(AwaitWatches(4));
  lease.reset();
  const Lease next = Granted(waiting[0]);
  EXPECT_TRUE(AwaitWatches(3));
}

TEST_F(QueueInAWorld, ATryTakesAFreeLock) {
  auto tried = Lock(client_, path()).TryAcquire();
  ASSERT_TRUE(tried.ok()) << tried.status();
  ASSERT_TRUE(tried->acquired());
  EXPECT_THAT(Queue(), ElementsAre((*std::move(tried)).lease().node()));
  EXPECT_TRUE(AwaitQueue(0));
}

TEST_F(QueueInAWorld, ATryOfABusyLockQueuesNobody) {
  const auto [holder, other] = NewClients<2>();
  const Lease lease = Acquired(holder);
  CatchUp(other);
  for (const auto& client : {holder, other}) {
    auto tried = Lock(client, path()).TryAcquire();
    ASSERT_TRUE(tried.ok()) << tried.status();
    EXPECT_FALSE(tried->acquired());
  }
  // Had a node been there for a moment, it would have taken a number.
  auto waiter = Queued(other, 2);
  EXPECT_EQ(Number(Queue().back()), "0000000001");
}

TEST_F(QueueInAWorld, ATryThatWasBusyTakesTheLockOnceItIsFree) {
  auto holder = NewClient();
  Lease lease = Acquired(holder);
  Lock lock(NewClient(), path());
  EXPECT_FALSE(lock.TryAcquire()->acquired());
  EXPECT_EQ(std::move(lease).Release(), absl::OkStatus());
  // Another server may hear of it a moment later.
  EXPECT_TRUE(world().Await([&] { return lock.TryAcquire()->acquired(); }));
}

TEST_F(QueueInAWorld, OfManyTriesAtOnceOneTakesTheLockAndTheOthersLeaveNothing) {
  const auto clients = NewClients<3>();
  std::vector<std::future<absl::StatusOr<TryResult>>> tries;
  for (size_t i = 0; i < 12; ++i) {
    tries.push_back(std::async(std::launch::async, [this, client = clients[i % clients.size()]] {
      return Lock(client, path()).TryAcquire();
    }));
  }
  std::vector<Lease> leases;
  for (auto& answer : tries) {
    auto tried = answer.get();
    ASSERT_TRUE(tried.ok()) << tried.status();
    if (tried->acquired()) leases.push_back((*std::move(tried)).lease());
  }
  ASSERT_THAT(leases, SizeIs(1));
  EXPECT_TRUE(AwaitQueue(1));
  EXPECT_THAT(Queue(), ElementsAre(leases[0].node()));
}

TEST_F(QueueInAWorld, AHolderThatAcquiresAgainWaitsForItselfAndStillHolds) {
  std::optional<Lease> lease = Acquired(client_);
  Pending again(client_, path(), {.timeout = absl::Seconds(1)});
  EXPECT_EQ(Code(again), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(lease->state(), Lease::State::kHeld);
  Pending next = Queued(client_, 2);
  EXPECT_FALSE(next.answered());
  lease.reset();
  EXPECT_TRUE(Answer(next).ok());
}

TEST_F(QueueInAWorld, ATimedOutOrCancelledWaitLeavesNeitherNodeNorWatch) {
  const auto [holder, other] = NewClients<2>();
  const Lease lease = Acquired(holder);
  std::stop_source stop;
  const std::pair<WaitOptions, StatusCode> ends[] = {
      {{.timeout = absl::Seconds(1)}, StatusCode::kDeadlineExceeded},
      {{.cancel = stop.get_token()}, StatusCode::kCancelled}};
  for (const auto& [wait, code] : ends) {
    Pending waiter(other, path(), wait);
    ASSERT_TRUE(AwaitWatches(1));
    if (code == StatusCode::kCancelled) stop.request_stop();
    EXPECT_EQ(Code(waiter), code);
    EXPECT_TRUE(AwaitQueue(1));
    EXPECT_TRUE(AwaitWatches(0));
    EXPECT_EQ(waiter.answers(), 1);
  }
  EXPECT_EQ(lease.state(), Lease::State::kHeld);
}

TEST_F(QueueInAWorld, AWaiterBehindOneThatGaveUpStillGetsItsTurnAndNotBefore) {
  const auto [holder, other] = NewClients<2>();
  std::optional<Lease> lease = Acquired(holder);
  std::stop_source stop;
  Pending gives_up(other, path(), {.cancel = stop.get_token()});
  ASSERT_TRUE(AwaitQueue(2));
  Pending waiter = Queued(other, 3);
  ASSERT_TRUE(AwaitWatches(2));
  stop.request_stop();
  ASSERT_TRUE(AwaitQueue(2));
  ASSERT_TRUE(AwaitWatches(1));
  EXPECT_FALSE(waiter.answered());
  lease.reset();
  EXPECT_TRUE(Answer(waiter).ok());
}

}  // namespace
}  // namespace zkrecipes::integration

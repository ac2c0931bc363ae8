// SPDX-License-Identifier: Apache-2.0
//
// A forked child inherits clients, locks and leases, but must not act for them. And leaders that
// die.

#include <csignal>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <gmock/gmock.h>

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/forked_child.h"
#include "integration/fixtures/stall.h"
#include "testing/coroutine_types.h"
#include "zkrecipes/contenders.h"
#include "zkrecipes/std_adapters.h"

namespace zkrecipes::integration {
namespace {

using ::testing::ElementsAre;

constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;

class LockForkTest : public ClientTest {};

TEST_F(LockForkTest, AChildThatReplacesOrDestroysLeasesLockAndClientDisturbsNothing) {
  auto client = NewClient();
  std::optional<States> states(std::in_place, *client);
  ASSERT_TRUE(states->Await(ClientState::kConnected));
  const int64_t session = client->session_id();
  std::optional<Lock> lock(std::in_place, client, node_path());
  std::optional<Lease> lease = Acquired(client);
  Lease other = Acquired(client, node_path() + "/other");
  std::optional<Pending> waiter(std::in_place, client, node_path());
  auto observer = NewClient();
  ASSERT_TRUE(AwaitQueue(*observer, 2));

  RunInForkedChild([&] {
    EXPECT_EQ(CheckSequencer(*client, lease->sequencer()).status().code(), kPrecondition);
    *lease = std::move(other);
    lease.reset();
    waiter.reset();
    lock.reset();
    states.reset();
    client.reset();
    observer.reset();
  });

  absl::SleepFor(absl::Seconds(1.5));  // a server told to close the session would have done so
  EXPECT_EQ(Queue(*observer).size(), 2u);
  EXPECT_EQ(lease->state(), Lease::State::kHeld);
  EXPECT_EQ(other.state(), Lease::State::kHeld);
  EXPECT_FALSE(lease->ended().stop_requested());
  EXPECT_EQ(client->session_id(), session);
  EXPECT_THAT(states->seen(), ElementsAre(ClientState::kConnected));
  EXPECT_FALSE(waiter->answered());
  EXPECT_TRUE(*CheckSequencer(*client, lease->sequencer(), {kSoon}));
  EXPECT_EQ(std::move(*lease).Release({kSoon}), absl::OkStatus());
  EXPECT_TRUE(waiter->Get().ok());
}

TEST_F(LockForkTest, EveryCallInAChildFailsAtOnce) {
  auto client = NewClient();
  Lease lease = Acquired(client);
  const std::string path = node_path();
  RunInForkedChild([&] {
    Lock lock(client, path);
    EXPECT_EQ(lock.Acquire().status().code(), kPrecondition);
    EXPECT_EQ(lock.TryAcquire().status().code(), kPrecondition);
    Pending pending(client, path);
    EXPECT_EQ(pending.Code(), kPrecondition);
    EXPECT_EQ(pending.answers(), 1);
    EXPECT_EQ(ListContenders(*client, path).status().code(), kPrecondition);
    EXPECT_TRUE(States(*client).seen().empty());
    EXPECT_EQ(lease.state(), Lease::State::kLost);
    EXPECT_EQ(lease.remaining(), absl::ZeroDuration());
    EXPECT_GT(lease.token().value(), 0);
    const absl::Status released = std::move(lease).Release();
    EXPECT_EQ(released.code(), kPrecondition);
    EXPECT_EQ(released.message(), "the client belongs to the parent process");
    EXPECT_EQ(client->Close().code(), kPrecondition);
  });
  EXPECT_EQ(Queue(*client).size(), 1u);
  EXPECT_EQ(std::move(lease).Release({kSoon}), absl::OkStatus());
}

TEST_F(LockForkTest, AChildMayUnlockAndDestroyWhatItInheritedAndDisturbsNothing) {
  auto client = NewClient();
  std::optional<DistributedMutex> mutex(std::in_place, client, node_path());
  std::unique_lock lock(*mutex);
  const auto wait = [](Lock waiting) -> testing::DetachedCoroutine {
    (void)co_await waiting.CoAcquire();
  };
  const auto waiter = wait(Lock(client, node_path()));
  ASSERT_TRUE(AwaitQueue(*client, 2));
  RunInForkedChild([&] {
    EXPECT_THROW((void)mutex->try_lock(), std::system_error);
    lock.unlock();
    mutex.reset();
    waiter.frame.destroy();
    bool answered = false;
    const auto ask = [&](Lock asking) -> testing::DetachedCoroutine {
      answered = (co_await asking.CoAcquire()).status().code() == kPrecondition;
    };
    ask(Lock(client, node_path()));
    EXPECT_TRUE(answered);
  });
  EXPECT_EQ(Queue(*client).size(), 2u);
  EXPECT_EQ(mutex->lease().state(), Lease::State::kHeld);
  waiter.frame.destroy();
  lock.unlock();
  EXPECT_TRUE(AwaitQueue(*client, 0));
}

TEST_F(LockForkTest, AChildCanContendWithAClientOfItsOwn) {
  auto client = NewClient();
  Lease lease = Acquired(client);
  RunInForkedChild([&] {
    auto own = NewClient();
    auto result = Lock(own, node_path()).TryAcquire({kSoon});
    EXPECT_TRUE(IsBusy(result.status())) << result.status();
    EXPECT_TRUE(Lock(own, node_path() + "/free").Acquire({kSoon}).ok());
    EXPECT_EQ(own->Close({kSoon}), absl::OkStatus());
  });
  EXPECT_EQ(lease.state(), Lease::State::kHeld);
  EXPECT_EQ(std::move(lease).Release({kSoon}), absl::OkStatus());
}

// Deaths under an election on a real ensemble. Times are printed; the bounds are those
// of docs/design.md.
constexpr absl::Duration kSession = absl::Seconds(4);

class ElectionFailoverTest : public ClientTest {
 protected:
  LeaderElection Election(const std::shared_ptr<Client>& client) { return {client, node_path()}; }
};

// The leader's last sign of life precedes the kill; its session expires at a tick, and the next
// leader is told at once.
TEST_F(ElectionFailoverTest, TheNextLeadsWithinTheTimeoutAndAHalfTicksOfALeadersDeath) {
  const absl::Duration took = Undisturbed([this] {
    ForkedChild leader([this](Line& line) {
      auto client = NewClient({.session_timeout = kSession});
      auto lease = Election(client).Campaign({kSoon});
      EXPECT_TRUE(lease.ok()) << lease.status();
      line.Say();
      line.Hear();
    });
    EXPECT_TRUE(leader.line().Hear());
    auto other = NewClient();
    Pending waiter(Election(other));
    EXPECT_TRUE(AwaitQueue(*other, 2));
    const absl::Time killed = absl::Now();
    EXPECT_EQ(kill(leader.pid(), SIGKILL), 0);
    EXPECT_TRUE(waiter.Get().ok());
    return absl::Now() - killed;
  });
  std::cout << "after the leading process's death: " << took << "\n";
  EXPECT_LE(took,
            kSession + 1.5 * absl::Duration(SharedEnsemble::Options().tick) + absl::Seconds(1));
}

}  // namespace
}  // namespace zkrecipes::integration

// SPDX-License-Identifier: Apache-2.0
//
// Paths whose ACL lets contenders make nodes and not delete them: a node goes by its session.

#include <memory>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

#include "recipes/lock_fixture.h"

namespace zkrecipes::testing::memory {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kOther[] = "/locks/other";
constexpr int32_t kRead = 1;
constexpr int32_t kWrite = 2;
constexpr int32_t kCreate = 4;

class UndeletableNodeTest : public LockInMemoryTest {
 protected:
  void MakePath(int32_t permissions, const std::string& path = kPath) {
    Node parent;
    parent.acl = {{permissions, "world", "anyone"}};
    if (path == kPath) {  // the first
      ASSERT_TRUE(model().OperatorCreates("/locks", {}, simulation_.now()));
    }
    ASSERT_TRUE(model().OperatorCreates(path, parent, simulation_.now()));
  }
  // Another attempt of the same client.
  static LockUser Beside(const LockUser& user) {
    LockUser other;
    other.host = user.host;
    other.client = user.client;
    return other;
  }
  // On a path where all may be deleted.
  static void AcquireOther(LockUser& user, const std::string& path = kOther) {
    Lock(user.client, path).AcquireAsync({}, [&user](absl::StatusOr<Lease> lease) {
      ++user.answers;
      user.result.emplace(std::move(lease));
    });
  }
  // False once nothing is left to do at this time.
  bool RunStep() {
    std::vector<Step> steps;
    simulation_.ListSteps(steps);
    if (steps.empty() || steps.front().kind == Step::Kind::kAdvance) return false;
    simulation_.Run(steps.front());
    return true;
  }
};

// The parent grants create alone: the node is there, and can be neither listed nor deleted; whether
// it is there cannot be found out after a loss of the connection.
TEST_F(UndeletableNodeTest, ARefusalIsToldAtOnceThoughTheNodeCannotBeDeleted) {
  MakePath(kCreate);
  for (int at = 0;; ++at) {
    auto user = Start();
    user->Acquire();
    std::vector<Step> steps;
    for (int step = 0; step < at && user->answers == 0; ++step) {
      steps.clear();
      simulation_.ListSteps(steps);
      simulation_.Run(steps.front());
    }
    const bool answered = user->answers > 0;
    user->host->BreakConnections();
    PassTime(absl::Seconds(3));
    ASSERT_EQ(user->answers, 1) << at;
    EXPECT_EQ(user->code(), StatusCode::kPermissionDenied) << at;
    // Its session has gone for that, which nothing else needed.
    EXPECT_THAT(model().committed().Children(kPath), ::testing::IsEmpty()) << at;
    if (answered) return;
  }
}

TEST_F(UndeletableNodeTest, ANodeThatCannotBeDeletedGoesOnceNothingElseNeedsItsSession) {
  MakePath(kRead + kCreate);
  for (const bool closed : {false, true}) {
    auto user = StartHolder();
    LockUser other = Beside(*user);
    AcquireOther(other);
    simulation_.RunUntilIdle();
    ASSERT_TRUE(other.holds());
    user->result.reset();
    PassTime(absl::Minutes(1));
    EXPECT_THAT(Queue(), ::testing::SizeIs(1));
    EXPECT_TRUE(other.holds()) << "its session is not ended for a node of another contender";
    const auto outcome = std::make_shared<base::OneShot<absl::Status>>();
    if (closed) internal::ClientAccess::Core(*user->client)->Close(outcome);
    if (!closed) other.result.reset();
    PassTime(absl::Milliseconds(100));
    EXPECT_THAT(Queue(), ::testing::IsEmpty()) << closed;
    if (closed) {
      EXPECT_EQ(outcome->Take({}), absl::OkStatus());
    } else {
      EXPECT_TRUE(StartHolder()->holds());
    }
  }
}

TEST_F(UndeletableNodeTest, AWaiterBehindANodeOfItsOwnClientGoesOnInANewSession) {
  MakePath(kRead + kCreate);
  auto user = StartHolder();
  const int64_t session = user->client->session_id();
  LockUser waiter = Beside(*user);
  Acquire(waiter);
  ASSERT_EQ(waiter.answers, 0);
  user->result.reset();
  PassTime(absl::Seconds(1));
  EXPECT_TRUE(waiter.holds());
  EXPECT_NE(user->client->session_id(), session);
  EXPECT_THAT(Queue(), SizeIs(1));
}

// Its turn comes at any step of that: it is never granted in a session whose end was asked for.
TEST_F(UndeletableNodeTest, NoWaiterIsGrantedInASessionThatIsBeingEnded) {
  MakePath(kRead + kCreate);
  for (int at = 0;; ++at) {
    auto user = StartHolder();
    auto other = Start();
    AcquireOther(*other);
    simulation_.RunUntilIdle();
    ASSERT_TRUE(other->holds());
    LockUser waiter = Beside(*user);
    AcquireOther(waiter);
    PassTime(absl::Seconds(2));  // it watches its own node by now, and is near its turn
    user->result.reset();
    int step = 0;
    while (step < at && RunStep()) ++step;
    const bool idle = step < at;
    other->result.reset();
    do {
      if (!waiter.holds()) continue;
      ASSERT_THAT(model().committed().Children(kOther),
                  ::testing::Contains(std::string(zk::NodeName(waiter.lease().node()))))
          << at;
    } while (RunStep());
    PassTime(absl::Seconds(1));
    ASSERT_TRUE(waiter.holds()) << at;
    ASSERT_THAT(Queue(), IsEmpty()) << at;
    waiter.result.reset();
    simulation_.RunUntilIdle();
    if (idle) return;
  }
}

TEST_F(UndeletableNodeTest, AServerThatIsSilentWhenASessionIsToEndIsLeft) {
  MakePath(kRead + kCreate);
  for (int at = 0;; ++at) {
    auto user = std::make_unique<LockUser>();
    memory::Start(simulation_, *user, {.session_timeout = absl::Seconds(10)});
    user->host->set_only_server(1);
    user->host->BreakConnections();
    PassTime(absl::Seconds(10));
    user->host->set_only_server(std::nullopt);
    Acquire(*user);
    PassTime(absl::Seconds(1));
    ASSERT_TRUE(user->holds()) << at << user->code();
    const int64_t session = user->client->session_id();
    user->result.reset();
    int step = 0;
    while (step < at && RunStep()) ++step;
    model().StandStill(1, true, simulation_.now());
    PassTime(absl::Seconds(5));
    // It is told to the next server, or a new session is there.
    EXPECT_TRUE(user->client->session_id() != session || user->host->ConnectedTo() != 1) << at;
    model().StandStill(1, false, simulation_.now());
    PassTime(absl::Seconds(11));
    EXPECT_THAT(Queue(), IsEmpty()) << at;
    if (step < at) return;
  }
}

// A lease keeps the session of the first one. All later ones have another, which goes at once.
TEST_F(UndeletableNodeTest, RefusedAcquiresDoNotPileUpNodesBesideALease) {
  MakePath(kCreate);
  auto user = Start();
  AcquireOther(*user);
  simulation_.RunUntilIdle();
  ASSERT_TRUE(user->holds());
  LockUser refused = Beside(*user);
  for (int i = 0; i < 50; ++i) {
    Acquire(refused);
    ASSERT_EQ(refused.answers, i + 1);
    EXPECT_EQ(refused.code(), StatusCode::kPermissionDenied);
    EXPECT_THAT(Queue(), SizeIs(::testing::Le(2))) << i;
  }
  EXPECT_THAT(model().connections(), SizeIs(::testing::Le(3)));
  EXPECT_TRUE(user->holds());
  user->result.reset();
  PassTime(absl::Seconds(1));
  EXPECT_THAT(Queue(), IsEmpty());
}

// The path has a session apart from the first refusal on: what waits elsewhere keeps its place, and
// leases elsewhere their session.
TEST_F(UndeletableNodeTest, CostsAWaiterOfAnotherPathItsPlaceOnceAtMost) {
  MakePath(kRead + kCreate);
  auto holder = Start();
  AcquireOther(*holder);
  simulation_.RunUntilIdle();
  ASSERT_TRUE(holder->holds());
  auto user = Start();
  LockUser waiter = Beside(*user);
  AcquireOther(waiter);
  std::vector<std::vector<std::string>> queues;
  for (int i = 0; i < 5; ++i) {
    Acquire(*user);
    ASSERT_TRUE(user->holds()) << i;
    user->result.reset();
    PassTime(absl::Seconds(1));
    EXPECT_THAT(Queue(), IsEmpty()) << i;
    queues.push_back(model().committed().Children(kOther));
  }
  EXPECT_THAT(queues, ::testing::Each(queues.front()));
  holder->result.reset();
  PassTime(absl::Seconds(1));
  EXPECT_TRUE(waiter.holds());
}

TEST_F(UndeletableNodeTest, CostsManyLeasesOfTheClientNoSessionEach) {
  MakePath(kCreate);
  auto user = Start();
  std::vector<std::unique_ptr<LockUser>> leases;
  std::vector<ClientState> states;
  const Subscription subscription =
      user->client->OnStateChange([&states](ClientState state) { states.push_back(state); });
  for (int i = 0; i < 40; ++i) {
    leases.push_back(std::make_unique<LockUser>(Beside(*user)));
    AcquireOther(*leases.back(), absl::StrCat("/locks/", i));
    simulation_.RunUntilIdle();
    ASSERT_TRUE(leases.back()->holds()) << i;
    LockUser refused = Beside(*user);
    Acquire(refused);
    EXPECT_EQ(refused.code(), StatusCode::kPermissionDenied);
  }
  EXPECT_THAT(model().connections(), SizeIs(::testing::Le(3)));
  EXPECT_THAT(states, ::testing::Each(ClientState::kConnected)) << "a lease is held meanwhile";
}

TEST_F(UndeletableNodeTest, SessionsThatHaveEmptiedAreUsedForEitherKindOfPath) {
  MakePath(kCreate);
  auto user = Start();
  LockUser refused = Beside(*user);
  for (const int round : {1, 2}) {
    std::vector<std::unique_ptr<LockUser>> leases;
    for (int i = 0; i < 40; ++i) {  // more than there are sessions
      const std::string bad = absl::StrCat("/locks/bad", round, "-", i);
      MakePath(kCreate, bad);
      leases.push_back(std::make_unique<LockUser>(Beside(*user)));
      AcquireOther(*leases.back(), absl::StrCat("/locks/", i));
      simulation_.RunUntilIdle();
      if (!leases.back()->holds()) leases.pop_back();
      Lock(user->client, bad).AcquireAsync({}, [](auto) {});
      simulation_.RunUntilIdle();
    }
    EXPECT_THAT(leases, SizeIs(::testing::Ge(31)));
    leases.clear();
    PassTime(absl::Seconds(1));
    Acquire(refused);
    EXPECT_EQ(refused.code(), StatusCode::kPermissionDenied) << round;
  }
}

// Nodes there would end a session that others use, and each such session is one less.
TEST_F(UndeletableNodeTest, TakesNoSessionFromOthersWhenAllAreInUse) {
  auto user = Start();
  std::vector<std::unique_ptr<LockUser>> leases;
  const auto acquire = [&](const std::string& path) {
    leases.push_back(std::make_unique<LockUser>(Beside(*user)));
    AcquireOther(*leases.back(), path);
    simulation_.RunUntilIdle();
    return leases.back()->code();
  };
  ASSERT_TRUE(model().OperatorCreates("/locks", {}, simulation_.now()));
  for (int i = 0; i < 32; ++i) {  // as many as there are sessions
    ASSERT_EQ(acquire(absl::StrCat("/locks/", i)), StatusCode::kOk) << i;
    if (i == 31) break;  // the last one's session stays whole
    Node parent;
    parent.acl = {{kCreate, "world", "anyone"}};
    const std::string bad = absl::StrCat("/locks/bad", i);
    ASSERT_TRUE(model().OperatorCreates(bad, parent, simulation_.now()));
    ASSERT_EQ(acquire(bad), StatusCode::kPermissionDenied) << i;
  }
  EXPECT_EQ(acquire("/locks/bad0"), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(leases.back()->result->status().message()),
              HasSubstr("cannot be deleted"));
  EXPECT_EQ(acquire("/locks/33"), StatusCode::kOk) << "there is room for others";
}

// As long as there are sessions, each such path has one of its own.
TEST_F(UndeletableNodeTest, ANodeGoesThoughAnotherSuchPathIsHeld) {
  MakePath(kRead + kCreate);
  MakePath(kRead + kCreate, kOther);
  auto user = Start();
  LockUser other = Beside(*user);
  for (const bool known : {false, true}) {
    Acquire(*user);
    AcquireOther(other);
    simulation_.RunUntilIdle();
    ASSERT_TRUE(user->holds() && other.holds());
    user->result.reset();
    PassTime(absl::Seconds(1));
    if (known) {
      EXPECT_THAT(Queue(), IsEmpty());
    }
    EXPECT_TRUE(other.holds());
    other.result.reset();
    PassTime(absl::Seconds(1));
    EXPECT_THAT(model().committed().Children(kOther), IsEmpty());
  }
}

// Each call's node, and with it the session, has to go before the next one can be first.
TEST_F(UndeletableNodeTest, CallsThatGiveUpInALockDelayDoNotBeginItAnew) {
  constexpr absl::Duration kTheirDelay = absl::Seconds(20);
  MakePath(kRead + kWrite + kCreate);
  auto holder = Start();
  holder->lock_options.lock_delay = kTheirDelay;
  Acquire(*holder);
  ASSERT_TRUE(holder->holds());
  Expire(*holder);
  auto user = Start();
  user->lock_options.lock_delay = kTheirDelay;
  const auto begin = simulation_.now();
  while (simulation_.now() - begin < 10 * kTheirDelay) {
    Acquire(*user, {absl::Seconds(5)});
    PassTime(absl::Seconds(5.1));
    if (user->holds()) break;
  }
  ASSERT_TRUE(user->holds());
  EXPECT_GE(simulation_.now() - begin, kTheirDelay);
  // In the first session, and once more in the one apart.
  EXPECT_LT(simulation_.now() - begin, kTheirDelay + absl::Seconds(15));
}

TEST_F(UndeletableNodeTest, AReleaseIsConfirmedByTheConfirmedEndOfItsSession) {
  MakePath(kRead + kCreate);
  for (const bool closed : {false, true}) {
    auto user = StartHolder();
    LockUser other = Beside(*user);
    AcquireOther(other);
    simulation_.RunUntilIdle();
    std::vector<absl::Status> released;
    const auto release = [&] {
      std::move(user->lease()).ReleaseAsync({}, [&](absl::Status s) { released.push_back(s); });
      PassTime(absl::Milliseconds(100));
    };
    release();
    const auto outcome = std::make_shared<base::OneShot<absl::Status>>();
    if (closed) internal::ClientAccess::Core(*user->client)->Close(outcome);
    if (!closed) other.result.reset();
    PassTime(absl::Milliseconds(100));
    EXPECT_THAT(Queue(), IsEmpty());
    release();
    ASSERT_THAT(released, SizeIs(2));
    EXPECT_EQ(released.front().code(), StatusCode::kPermissionDenied);
    EXPECT_EQ(released.back(), absl::OkStatus()) << closed;
  }
}

}  // namespace
}  // namespace zkrecipes::testing::memory

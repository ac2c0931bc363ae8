// SPDX-License-Identifier: Apache-2.0
//
// A client with more contenders than one ZooKeeper session may have.

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "lib/session/client/client_core.h"
#include "recipes/lock_fixture.h"
#include "zkrecipes/cached_lock.h"
#include "zkrecipes/guarded_write.h"
#include "zkrecipes/leader_election.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr int kInTwo = 600;  // contenders that hold: more than one session has room for

class ManySessionsTest : public LockInMemoryTest {
 protected:
  using Answer = std::shared_ptr<std::optional<absl::StatusOr<Lease>>>;

  void SetUp() override {
    memory::Start(simulation_, user_, {.servers = simulation_.servers() + LongNamespace()});
    subscription_ = user_.client->OnStateChange([this](ClientState s) { states_.push_back(s); });
    simulation_.RunUntilIdle();
    states_.clear();
  }

  std::vector<absl::StatusOr<Lease>> AcquireAll(int count) {
    return LockInMemoryTest::AcquireAll(user_.client, count);
  }
  std::set<zk::SessionId> LiveSessions() {
    std::set<zk::SessionId> sessions;
    for (const ConnectionId id : model().connections()) sessions.insert(model().SessionOf(id));
    return sessions;
  }
  Answer AcquireOne(int number, absl::Duration timeout) {
    auto answer = std::make_shared<std::optional<absl::StatusOr<Lease>>>();
    Lock(user_.client, LongPath(number))
        .AcquireAsync({timeout},
                      [answer](absl::StatusOr<Lease> lease) { answer->emplace(std::move(lease)); });
    simulation_.RunUntilIdle();
    return answer;
  }
  // All that fit into the first session, and one for which there is only a session that is tried in
  // vain, at the server `second`.
  std::vector<Answer> FillTheFirst(int second) {
    user_.host->set_only_server(second);
    user_.host->set_drops(second, true);
    std::vector<Answer> held;
    while (held.size() < kInTwo && (held.empty() || held.back()->has_value())) {
      held.push_back(AcquireOne(static_cast<int>(held.size()), absl::Seconds(5)));
    }
    EXPECT_LT(held.size(), kInTwo);
    return held;
  }
  zk::SessionId SecondSession() {
    std::set<zk::SessionId> sessions = LiveSessions();
    sessions.erase(user_.client->session_id());
    EXPECT_THAT(sessions, SizeIs(1));
    return *sessions.begin();
  }
  static int Believed(std::vector<absl::StatusOr<Lease>>& leases) {
    int believed = 0;
    for (auto& lease : leases) believed += lease.ok() && lease->believed() ? 1 : 0;
    return believed;
  }

  LockUser user_;
  std::vector<ClientState> states_;
  Subscription subscription_;
};

TEST_F(ManySessionsTest, HoldWhatOneHasNoRoomFor) {
  std::vector<absl::StatusOr<Lease>> leases = AcquireAll(kInTwo);
  EXPECT_EQ(Believed(leases), kInTwo);
  EXPECT_THAT(LiveSessions(), SizeIs(2));
  EXPECT_THAT(states_, ElementsAre()) << "it was connected all the time";
}

TEST_F(ManySessionsTest, TakeBackTheirRoomBeforeThereIsAnother) {
  for (int i = 0; i < 3; ++i) {
    std::vector<absl::StatusOr<Lease>> leases = AcquireAll(kInTwo);
    leases.clear();
    simulation_.RunUntilIdle();
    EXPECT_THAT(LiveSessions(), SizeIs(2));
  }
}

TEST_F(ManySessionsTest, LoseTheirOwnLeasesOnly) {
  std::vector<absl::StatusOr<Lease>> leases = AcquireAll(kInTwo);
  ASSERT_TRUE(model().Expire(SecondSession(), simulation_.now()));
  PassTime(absl::Seconds(5));
  EXPECT_GT(Believed(leases), 50);
  EXPECT_LT(Believed(leases), kInTwo);
  EXPECT_THAT(states_, ::testing::Contains(ClientState::kExpired));
  EXPECT_EQ(states_.back(), ClientState::kConnected) << "with a new session in its place";
  leases.clear();
  simulation_.RunUntilIdle();
  leases = AcquireAll(kInTwo);
  EXPECT_EQ(Believed(leases), kInTwo);
}

// Its acquires have failed, and the client is connected by the others.
TEST_F(ManySessionsTest, DoNotSuspendTheClientWhenOneIsRefusedForGood) {
  std::vector<absl::StatusOr<Lease>> leases = AcquireAll(kInTwo);
  model().set_keeper(true);
  ASSERT_TRUE(model().Expire(SecondSession(), simulation_.now()));
  PassTime(absl::Seconds(30));
  EXPECT_THAT(LiveSessions(), SizeIs(1));
  EXPECT_EQ(user_.client->state(), ClientState::kConnected);
  EXPECT_EQ(states_.back(), ClientState::kConnected);
}

TEST_F(ManySessionsTest, AreUsedAgainThoughOneWasRefusedForGood) {
  std::vector<absl::StatusOr<Lease>> leases = AcquireAll(kInTwo);
  model().set_keeper(true);
  ASSERT_TRUE(model().Expire(SecondSession(), simulation_.now()));
  PassTime(absl::Minutes(1));
  EXPECT_LT(Believed(leases), kInTwo);
  leases.clear();
  simulation_.RunUntilIdle();
  leases = AcquireAll(kInTwo);  // not yet
  EXPECT_THAT(LiveSessions(), SizeIs(1));
  EXPECT_EQ(leases.back().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(states_.back(), ClientState::kConnected);
  model().set_keeper(false);
  leases.clear();
  simulation_.RunUntilIdle();
  leases = AcquireAll(kInTwo);
  EXPECT_EQ(Believed(leases), kInTwo);
  EXPECT_THAT(LiveSessions(), SizeIs(2));
}

// As one does that came to a former server's address.
TEST_F(ManySessionsTest, BeginAtOtherServersIfOneRefusesTheClient) {
  user_.host->set_only_server(1);
  model().set_keeper(true);
  bool all_serve = false;
  const auto mend = [&] {
    if (std::exchange(all_serve, true)) return;
    model().set_keeper(false);
    user_.host->set_only_server(std::nullopt);
  };
  std::vector<absl::StatusOr<Lease>> leases;
  for (int i = 0; i < kInTwo; ++i) {
    Lock(user_.client, LongPath(i)).AcquireAsync({}, [&leases](absl::StatusOr<Lease> lease) {
      leases.push_back(std::move(lease));
    });
    simulation_.RunUntilIdle();
    if (leases.size() <= static_cast<size_t>(i)) mend();
  }
  EXPECT_TRUE(all_serve);
  PassTime(absl::Seconds(10));
  ASSERT_THAT(leases, SizeIs(kInTwo));
  EXPECT_EQ(Believed(leases), kInTwo);
}

// And another one of the list answers nothing, so that they are never refused by each.
TEST_F(ManySessionsTest, EndTogetherIfOneServerRefusesAClientThatNoneHasServed) {
  model().set_keeper(true);
  LockUser other;
  other.host = simulation_.AddHost();
  other.host->set_network(Host::Network::kDown);
  other.host->set_drops(2, true);
  const auto core =
      simulation_.NewClient(other.host, {.servers = simulation_.servers() + LongNamespace()});
  other.client = internal::ClientAccess::Wrap(core);
  core->Start([](const absl::Status&) {});
  std::vector<absl::StatusCode> answers;
  for (int i = 0; i < kInTwo; ++i) {
    Lock(other.client, LongPath(i)).AcquireAsync({}, [&](const absl::StatusOr<Lease>& lease) {
      answers.push_back(lease.status().code());
    });
  }
  simulation_.RunUntilIdle();
  EXPECT_THAT(answers, SizeIs(0));
  other.host->set_network(Host::Network::kUp);
  PassTime(absl::Minutes(2));
  EXPECT_EQ(other.client->state(), ClientState::kClosed);
  EXPECT_THAT(answers, SizeIs(kInTwo));
  EXPECT_THAT(answers, Each(absl::StatusCode::kFailedPrecondition));
}

TEST_F(ManySessionsTest, AreNotOpenedOnceTheClientIsRefusedForGood) {
  const auto core = internal::ClientAccess::Core(*user_.client);
  core->Post([core](auto*) { core->sessions().SetApart(LongNamespace() + LongPath(0)); });
  model().set_keeper(true);
  ASSERT_TRUE(model().Expire(user_.client->session_id(), simulation_.now()));
  PassTime(absl::Minutes(2));
  ASSERT_EQ(user_.client->state(), ClientState::kClosed);
  user_.host->set_network(Host::Network::kDown);
  const std::vector<absl::StatusOr<Lease>> leases = AcquireAll(1);
  ASSERT_THAT(leases, SizeIs(1));
  EXPECT_EQ(leases[0].status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ManySessionsTest, AreNotUsedOnceTheClientIsRefusedForGood) {
  std::vector<absl::StatusOr<Lease>> leases = AcquireAll(kInTwo);
  const zk::SessionId second = SecondSession();
  model().set_keeper(true);
  ASSERT_TRUE(model().Expire(user_.client->session_id(), simulation_.now()));
  PassTime(absl::Minutes(2));
  ASSERT_EQ(user_.client->state(), ClientState::kClosed);
  ASSERT_THAT(LiveSessions(), ElementsAre(second)) << "it goes on for those that hold in it";
  leases.clear();
  simulation_.RunUntilIdle();
  const auto core = internal::ClientAccess::Core(*user_.client);
  core->Post([core](auto*) { core->sessions().SetApart(LongNamespace() + LongPath(0)); });
  leases = AcquireAll(1);
  ASSERT_THAT(leases, SizeIs(1));
  EXPECT_EQ(leases[0].status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ManySessionsTest, AreConnectedTogetherOrTheClientIsSuspended) {
  std::vector<absl::StatusOr<Lease>> leases = AcquireAll(kInTwo);
  user_.host->BreakConnections();
  simulation_.RunUntilIdle();
  EXPECT_EQ(user_.client->state(), ClientState::kSuspended);
  PassTime(absl::Seconds(2));
  EXPECT_THAT(states_, ElementsAre(ClientState::kSuspended, ClientState::kConnected));
  EXPECT_EQ(user_.client->state(), ClientState::kConnected);
  EXPECT_EQ(Believed(leases), kInTwo);
}

TEST_F(ManySessionsTest, CloseTogether) {
  std::vector<absl::StatusOr<Lease>> leases = AcquireAll(kInTwo);
  user_.client.reset();
  PassTime(absl::Seconds(1));
  EXPECT_THAT(LiveSessions(), SizeIs(0));
  EXPECT_EQ(Believed(leases), 0);
  for (int i = 0; i < kInTwo; ++i) {
    EXPECT_THAT(model().committed().Children(LongNamespace() + LongPath(i)), SizeIs(0));
  }
  EXPECT_EQ(states_.back(), ClientState::kClosed);
}

TEST_F(ManySessionsTest, WriteUnderTheLeaseOfEach) {
  std::vector<absl::StatusOr<Lease>> leases = AcquireAll(kInTwo);
  std::vector<absl::Status> written;
  for (const int i : {0, 1, kInTwo - 2, kInTwo - 1}) {
    GuardedWriteAsync(*leases[i], {WriteOp::Create(absl::StrCat("/written-", i), "")}, {},
                      [&written](absl::Status status) { written.push_back(std::move(status)); });
    simulation_.RunUntilIdle();
  }
  EXPECT_THAT(written, SizeIs(4));
  EXPECT_THAT(written, Each(absl::OkStatus()));
}

// What follows a lease ends with it.
TEST_F(ManySessionsTest, KeepAnUpgradeInTheSessionOfItsReader) {
  std::vector<absl::StatusOr<Lease>> leases = AcquireAll(kInTwo);
  leases.erase(leases.begin());  // there is room again in the first
  std::optional<Lease> reading;
  std::optional<Lease> writing;
  ReadWriteLock lock(user_.client, LongPath(kInTwo));
  lock.AcquireSharedAsync({}, [&](absl::StatusOr<Lease> lease) { reading = *std::move(lease); });
  simulation_.RunUntilIdle();
  ASSERT_TRUE(reading);
  lock.UpgradeAsync(*reading, {},
                    [&](absl::StatusOr<Lease> lease) { writing = *std::move(lease); });
  simulation_.RunUntilIdle();
  ASSERT_TRUE(writing);
  EXPECT_TRUE(writing->believed());
}

TEST_F(ManySessionsTest, EachSaysByItselfWhetherItHasAConnection) {
  const int second = (*user_.host->ConnectedTo() + 1) % 3;
  const std::vector<Answer> held = FillTheFirst(second);
  PassTime(absl::Seconds(5));
  ASSERT_TRUE(held.back()->has_value());
  const absl::Status in_vain = (*held.back())->status();
  EXPECT_EQ(in_vain.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(in_vain.message()), HasSubstr("no connection to the ensemble for 5s: "));

  // It is connected, and then not any more, which is nothing to a waiter in the first.
  user_.host->set_drops(second, false);
  const auto last = AcquireOne(kInTwo, absl::Minutes(1));
  PassTime(absl::Seconds(10));
  ASSERT_TRUE(last->has_value() && (*last)->ok());
  user_.host->set_drops(second, true);
  PassTime(absl::Seconds(20));
  EXPECT_EQ(states_.back(), ClientState::kSuspended);
  for (int i = 1; i < 4; ++i) held[i]->reset();  // there is room again in the first
  simulation_.RunUntilIdle();
  const auto waiter = AcquireOne(0, absl::Seconds(2));
  PassTime(absl::Seconds(2));
  ASSERT_TRUE(waiter->has_value());
  EXPECT_EQ((*waiter)->status().code(), absl::StatusCode::kDeadlineExceeded) << (*waiter)->status();
}

TEST_F(ManySessionsTest, TheCallersOfACachedLockAreToldOfItsOwn) {
  const std::vector<Answer> held = FillTheFirst((*user_.host->ConnectedTo() + 1) % 3);
  const CachedLock lock(user_.client, LongPath(kInTwo));
  std::vector<absl::Status> told;
  for (const int seconds : {2, 5}) {
    lock.AcquireAsync({absl::Seconds(seconds)}, [&told](const absl::StatusOr<CachedLease>& lease) {
      told.push_back(lease.status());
    });
  }
  PassTime(absl::Seconds(6));
  ASSERT_THAT(told, SizeIs(2));
  for (const absl::Status& in_vain : told) {
    EXPECT_EQ(in_vain.code(), absl::StatusCode::kUnavailable) << in_vain;
    EXPECT_THAT(std::string(in_vain.message()), HasSubstr("no connection to the ensemble for "));
  }
}

TEST_F(ManySessionsTest, AreThirtyTwoAtMost) {
  std::vector<absl::StatusOr<Lease>> answers = AcquireAll(20000);
  EXPECT_THAT(LiveSessions(), SizeIs(32));
  const absl::Status refused = answers.back().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), StartsWith("acquire " + LongPath(19999)));
  // Nor is there room for the watches of more observers than one in each.
  absl::Status told;
  std::vector<Subscription> observers;
  for (int i = 0; i < 33; ++i) {
    observers.push_back(
        LeaderElection(user_.client, LongPath(i)).Observe([&told](const auto& news) {
          if (!news.ok()) told = news.status();
        }));
    simulation_.RunUntilIdle();
  }
  EXPECT_EQ(told.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(told.message()), HasSubstr("too many watches for 32 ZooKeeper sessions"));
}

}  // namespace
}  // namespace zkrecipes::testing::memory

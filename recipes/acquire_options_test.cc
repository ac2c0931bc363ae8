// SPDX-License-Identifier: Apache-2.0
//
// What one recipe asks for, beside what its client asks for.

#include "zkrecipes/acquire_options.h"

#include <memory>
#include <optional>
#include <utility>

#include "gmock/gmock.h"

#include "recipes/lock_fixture.h"
#include "zkrecipes/contenders.h"
#include "zkrecipes/leader_election.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using EndsAt = LeaseOptions::EndsAt;
using Answer = std::optional<absl::StatusOr<Lease>>;

class AcquireOptionsTest : public LockInMemoryTest {
 protected:
  std::unique_ptr<LockUser> StartHolder(const AcquireOptions& options, ClientOptions client = {}) {
    auto user = std::make_unique<LockUser>();
    memory::Start(simulation_, *user, std::move(client));
    user->lock_options = options;
    Acquire(*user);
    return user;
  }
  static auto Into(Answer& answer) {
    return [&answer](absl::StatusOr<Lease> lease) { answer.emplace(std::move(lease)); };
  }
  static bool Holds(const Answer& answer) { return answer.has_value() && answer->ok(); }
  void ExpectRefused(const AcquireOptions& options, const std::string& rule) {
    const auto user = StartHolder(options);
    EXPECT_EQ(user->code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(user->result->status().message()), HasSubstr(rule));
    EXPECT_THAT(Queue(), ::testing::IsEmpty());
  }
};

TEST_F(AcquireOptionsTest, LetOneLeaseEndAtTheExpiryAndAnotherOfTheSameClientAtItsDeadline) {
  for (const EndsAt of_client : {EndsAt::kDeadline, EndsAt::kExpiry}) {
    ClientOptions client;
    client.lease.ends_at = of_client;
    const auto user = StartHolder({.ends_at = EndsAt::kExpiry}, client);
    Answer other;
    Lock(user->client, "/other", {.ends_at = EndsAt::kDeadline}).AcquireAsync({}, Into(other));
    simulation_.RunUntilIdle();
    ASSERT_TRUE(user->holds() && Holds(other));
    user->host->set_network(Host::Network::kSilent);
    PassTime(absl::Seconds(15));
    EXPECT_EQ(user->lease().state(), Lease::State::kSuspect);
    EXPECT_TRUE(user->lease().believed());
    EXPECT_FALSE(user->lease().ended().stop_requested());
    EXPECT_EQ((*other)->end_reason(), LeaseEnd::kDeadlinePassed);
    EXPECT_TRUE((*other)->ended().stop_requested());
    user->host->set_network(Host::Network::kUp);
    PassTime(absl::Seconds(5));
    EXPECT_EQ(user->lease().end_reason(), LeaseEnd::kSessionExpired);
    EXPECT_TRUE(user->lease().ended().stop_requested());
  }
}

TEST_F(AcquireOptionsTest, NameTheNodesInTheirDialect) {
  auto user = StartHolder({.dialect = NameDialect::kKazoo});
  EXPECT_THAT(Queue(), ElementsAre(HasSubstr("__lock__")));
  Release(*user);
  user->lock_options.dialect = NameDialect::kCurator;
  Acquire(*user);
  EXPECT_THAT(Queue(), ElementsAre(HasSubstr("-lock-")));
}

TEST_F(AcquireOptionsTest, GiveTheNodesTheirAcl) {
  const auto user = StartHolder({.acl = CreatorOnlyAcl()}, {.digest_credentials = {"ann:1"}});
  ASSERT_TRUE(user->holds());
  for (const std::string& path : {user->lease().node(), std::string(kPath)}) {
    EXPECT_THAT(model().committed().Find(path)->acl,
                ElementsAre(::testing::Field(&zk::AclEntry::scheme, "digest")));
  }
  const auto stranger = StartHolder({});
  EXPECT_EQ(stranger->code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(AcquireOptionsTest, NameALeadersNodeAsALocksForCuratorsLeaderSelector) {
  const auto user = Start();
  Answer leader;
  const LeaderElection election(user->client, kPath, {.marker = NodeMarker::kLock});
  election.CampaignAsync({}, Into(leader));
  simulation_.RunUntilIdle();
  ASSERT_TRUE(Holds(leader));
  EXPECT_THAT(Queue(), ElementsAre(HasSubstr("-lock-")));
  EXPECT_EQ((*leader)->sequencer().mode, GrantMode::kLeader);
}

TEST_F(AcquireOptionsTest, NameALocksNodeAsTheRecipeOfCuratorsThatSharesThePath) {
  auto user = StartHolder({.marker = NodeMarker::kWriter});
  EXPECT_THAT(Queue(), ElementsAre(HasSubstr("-__WRIT__")));
  EXPECT_EQ(user->lease().sequencer().mode, GrantMode::kExclusive);
  Release(*user);
  user->lock_options.marker = NodeMarker::kLatch;
  Acquire(*user);
  EXPECT_THAT(Queue(), ElementsAre(HasSubstr("-latch-")));
}

TEST_F(AcquireOptionsTest, NameNoOtherRecipesNodes) {
  const auto user = Start();
  const AcquireOptions options = {.marker = NodeMarker::kLock};
  Answer reader, leader;
  ReadWriteLock(user->client, kPath, options).AcquireSharedAsync({}, Into(reader));
  LeaderElection(user->client, kPath, {.acquire = options}).CampaignAsync({}, Into(leader));
  simulation_.RunUntilIdle();
  EXPECT_EQ(reader->status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(leader->status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(AcquireOptionsTest, BreakNoRuleUnheard) {
  ExpectRefused({.acl = std::vector<Acl>{}}, "acl: must not be empty");
  ExpectRefused({.acl = CreatorOnlyAcl()}, "needs digest credentials");
  ExpectRefused({.lock_delay = absl::Seconds(-1)}, "lock delay \"-1s\": must be finite");
  ExpectRefused({.alive_within = absl::ZeroDuration()}, "alive within \"0\": must be more than");
  ExpectRefused({.hold_at_most = absl::Seconds(-2)}, "hold at most \"-2s\": must be more than");
}

// ---- a lock delay for writers, readers and leaders ----------------------------------------------

constexpr absl::Duration kDelay = absl::Seconds(20);

class DelayForAllTest : public AcquireOptionsTest {
 protected:
  // The holder's session goes in silence; returns once it has.
  void Vanish(LockUser& user) {
    user.host->set_paused(true);
    Expire(user);
  }
  void ExpectGrantedAfterTheDelay(const Answer& answer) {
    PassTime(kDelay - absl::Seconds(1));
    EXPECT_FALSE(answer.has_value());
    PassTime(absl::Seconds(2));
    EXPECT_TRUE(Holds(answer));
  }
  const AcquireOptions options_ = {.lock_delay = kDelay};
};

TEST_F(DelayForAllTest, ReadersAndTheNextWriterWaitAfterAWriterThatVanished) {
  const auto user = Start();
  const auto others = Start();
  Answer writer;
  Answer readers[2];
  Answer next;
  ReadWriteLock(user->client, kPath, options_).AcquireExclusiveAsync({}, Into(writer));
  simulation_.RunUntilIdle();
  const ReadWriteLock lock(others->client, kPath, options_);
  for (Answer& reader : readers) lock.AcquireSharedAsync({}, Into(reader));
  ASSERT_TRUE(Holds(writer));
  Vanish(*user);
  ExpectGrantedAfterTheDelay(readers[0]);
  EXPECT_TRUE(Holds(readers[1]));
  // The delay is over for all that come later.
  for (Answer& reader : readers) reader.reset();
  lock.AcquireExclusiveAsync({}, Into(next));
  simulation_.RunUntilIdle();
  EXPECT_TRUE(Holds(next));
}

TEST_F(DelayForAllTest, NothingWaitsAfterAReaderThatVanished) {
  const auto user = Start();
  const auto other = Start();
  Answer reader;
  Answer writer;
  ReadWriteLock(user->client, kPath, options_).AcquireSharedAsync({}, Into(reader));
  simulation_.RunUntilIdle();
  ReadWriteLock(other->client, kPath, options_).AcquireExclusiveAsync({}, Into(writer));
  simulation_.RunUntilIdle();
  ASSERT_TRUE(Holds(reader) && !writer.has_value());
  Vanish(*user);
  PassTime(absl::Seconds(1));
  EXPECT_TRUE(Holds(writer));
}

TEST_F(DelayForAllTest, TheNextLeaderWaitsAfterOneThatVanished) {
  const auto user = Start();
  const auto other = Start();
  Answer leader;
  Answer next;
  const LeaderElectionOptions options = {.acquire = options_};
  LeaderElection(user->client, kPath, options).CampaignAsync({}, Into(leader));
  simulation_.RunUntilIdle();
  LeaderElection(other->client, kPath, options).CampaignAsync({}, Into(next));
  simulation_.RunUntilIdle();
  ASSERT_TRUE(Holds(leader));
  Vanish(*user);
  ExpectGrantedAfterTheDelay(next);
}

}  // namespace
}  // namespace zkrecipes::testing::memory

// SPDX-License-Identifier: Apache-2.0
//
// Guarded writes of leases that are lost, of several at once, and of callers that give up.

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "recipes/every_step_fixture.h"
#include "zkrecipes/leader_election.h"

namespace zkrecipes::testing::memory {
namespace {

using absl::StatusCode;

class LostLeaseTest : public GuardedWriteTest {
 protected:
  // A write, while another waits: once that one holds, nothing more is written.
  void LoseAtEveryStep(const std::function<void(LockUser&)>& lose) {
    ForEveryStep([&] {
      const auto holder = StartHolder();
      const auto next = StartWaiter();
      fault_ = [&] { lose(*holder); };
      const int32_t writes = Writes();
      const Result result = Set(holder->lease(), "x");
      std::optional<int32_t> at_grant;
      for (int i = 0; i < 60 && (!next->holds() || !result->has_value()); ++i) {
        Settle();
        if (next->holds() && !at_grant.has_value()) at_grant = Writes();
        if (steps_ <= at_) return Release(*holder), Release(*next);  // no such step
        PassTime(absl::Seconds(1));
      }
      ASSERT_TRUE(result->has_value());
      ASSERT_TRUE(next->holds());
      PassTime(absl::Seconds(20));
      EXPECT_EQ(Writes(), at_grant.value_or(Writes())) << "after the next holder's grant";
      ExpectTruth(**result, writes);
      if (!(*result)->ok()) {
        EXPECT_EQ((*result)->code(), StatusCode::kAborted);
        EXPECT_FALSE(holder->lease().believed());
      }
      const absl::Status late = Do(holder->lease(), {WriteOp::Set(kRegister, "late")});
      EXPECT_EQ(late.code(), StatusCode::kAborted);
      EXPECT_FALSE(MayBeWritten(late));
      Release(*next);
    });
  }
};

TEST_F(LostLeaseTest, WritesNothingOnceItsNodeIsDeleted) {
  LoseAtEveryStep([&](LockUser& holder) {
    (void)model().OperatorDeletes(holder.lease().node(), simulation_.now());
  });
}

// It would have been watched a while later only.
TEST_F(LostLeaseTest, IsKnownToBeLostByWhoeverIsToldSo) {
  const auto holder = StartHolder();
  EXPECT_TRUE(model().OperatorDeletes(holder->lease().node(), simulation_.now()));
  bool believed = true;
  GuardedWriteAsync(holder->lease(), {WriteOp::Set(kRegister, "1")}, {},
                    [&](const absl::Status&) { believed = holder->lease().believed(); });
  simulation_.RunUntilIdle();
  EXPECT_FALSE(believed);
  EXPECT_EQ(holder->lease().end_reason(), LeaseEnd::kNodeDeleted);
  EXPECT_TRUE(holder->lease().ended().stop_requested());
}

TEST_F(LostLeaseTest, WritesNothingOnceItsNodeIsDeletedAndItsAnswerLost) {
  LoseAtEveryStep([&](LockUser& holder) {
    (void)model().OperatorDeletes(holder.lease().node(), simulation_.now());
    holder.host->BreakConnections();
  });
}

TEST_F(LostLeaseTest, WritesNothingOnceItsSessionHasExpired) {
  LoseAtEveryStep([&](LockUser& holder) { Expire(holder); });
}

TEST_F(LostLeaseTest, WritesNothingOnceItsSessionHasExpiredWithoutAConnection) {
  LoseAtEveryStep([&](LockUser& holder) {
    holder.host->BreakConnections();
    Expire(holder);
  });
}

// The write precedes the delete on the same session.
TEST_F(LostLeaseTest, WritesNothingOnceItIsReleased) {
  LoseAtEveryStep([&](LockUser& holder) {
    std::move(holder.lease()).ReleaseAsync({}, [](const absl::Status&) {});
  });
}

TEST_F(LostLeaseTest, WritesNothingOnceItIsReleasedWithoutAConnection) {
  LoseAtEveryStep([&](LockUser& holder) {
    LoseConnectionAndRequests(simulation_, *holder.host);
    std::move(holder.lease()).ReleaseAsync({}, [](const absl::Status&) {});
  });
}

// ---- Turns --------------------------------------------------------------------------------------

TEST_F(GuardedWriteTest, WritesOfOneLeaseTakeTurnsWhateverStepLosesTheConnection) {
  const auto holder = StartHolder();
  fault_ = [&] { LoseConnectionAndRequests(simulation_, *holder->host); };
  ForEveryStep([&] {
    const int32_t writes = Writes();
    const Result first = Set(holder->lease(), "1");
    const Result second = Set(holder->lease(), "2");
    const Result third = Write(holder->lease(), {WriteOp::Delete("/none")});
    const Result fourth = Set(holder->lease(), "4");
    AwaitAnswer(fourth);
    EXPECT_EQ(**first, absl::OkStatus());
    EXPECT_EQ(**second, absl::OkStatus());
    EXPECT_EQ((*third)->code(), StatusCode::kNotFound);
    EXPECT_EQ(**fourth, absl::OkStatus());
    EXPECT_EQ(DataOf(kRegister), "4");
    EXPECT_EQ(Writes(), writes + 3);
  });
}

TEST_F(GuardedWriteTest, ALeadersProclamationsTakeTurnsWithItsWrites) {
  const auto leader = Start();
  const LeaderElection election(leader->client, kPath, {"id", "0"});
  election.CampaignAsync(
      {}, [&](absl::StatusOr<Lease> lease) { leader->result.emplace(std::move(lease)); });
  simulation_.RunUntilIdle();
  fault_ = [&] { leader->host->BreakConnections(); };
  int n = 0;
  ForEveryStep([&] {
    const int32_t writes = Writes();
    const std::string value = absl::StrCat(++n);
    const Result before = Set(leader->lease(), "1");
    std::optional<absl::Status> proclaimed;
    election.ProclaimAsync(leader->lease(), value, {}, [&](absl::Status s) { proclaimed = s; });
    const Result after = Set(leader->lease(), "2");
    AwaitAnswer(after);
    EXPECT_EQ(**before, absl::OkStatus());
    EXPECT_EQ(proclaimed, absl::OkStatus());
    EXPECT_EQ(**after, absl::OkStatus());
    EXPECT_EQ(Writes(), writes + 2);
    EXPECT_EQ(DataOf(leader->lease().node()), "id\n" + value);
  });
}

// ---- Callers that give up -----------------------------------------------------------------------

TEST_F(GuardedWriteTest, OneThatIsGivenUpBeforeItIsSentWritesNothing) {
  const auto holder = StartHolder();
  holder->host->set_network(Host::Network::kDown);
  PassTime(absl::Milliseconds(1));
  std::stop_source stop;
  const Result cancelled = Set(holder->lease(), "1", {.cancel = stop.get_token()});
  const Result late = Set(holder->lease(), "2", {absl::Milliseconds(100)});
  PassTime(absl::Milliseconds(200));
  stop.request_stop();
  simulation_.RunUntilIdle();
  EXPECT_EQ((*cancelled)->code(), StatusCode::kCancelled);
  EXPECT_EQ((*late)->code(), StatusCode::kUnavailable);
  EXPECT_FALSE(MayBeWritten(**cancelled));
  EXPECT_FALSE(MayBeWritten(**late));
  holder->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(2));
  EXPECT_EQ(Writes(), 0);
}

TEST_F(GuardedWriteTest, OneThatIsGivenUpAtAnyStepIsNotSentAgainAndTheNextOneWaitsForItsEnd) {
  const auto holder = StartHolder();
  for (const bool lost : {false, true}) {
    ForEveryStep([&] {
      std::stop_source stop;
      fault_ = [&] {
        if (lost) LoseConnectionAndRequests(simulation_, *holder->host);
        stop.request_stop();
      };
      const int32_t writes = Writes();
      const Result given_up = Set(holder->lease(), "1", {.cancel = stop.get_token()});
      Settle();
      const int32_t so_far = Writes();
      PassTime(absl::Seconds(1));
      ASSERT_TRUE(given_up->has_value());
      ExpectTruth(**given_up, writes);
      if (lost) {
        EXPECT_EQ(Writes(), so_far) << "it was sent again";
      }
      EXPECT_EQ(Do(holder->lease(), {WriteOp::Set(kRegister, "2")}), absl::OkStatus());
      EXPECT_EQ(DataOf(kRegister), "2");
    });
  }
}

TEST_F(GuardedWriteTest, ClosingTheClientAnswersAllWrites) {
  const auto holder = StartHolder();
  const Result sent = Set(holder->lease(), "1");
  const Result waits = Set(holder->lease(), "2");
  holder->host->RunTask();
  holder->host->set_network(Host::Network::kSilent);
  internal::ClientAccess::Core(*holder->client)
      ->Close(std::make_shared<base::OneShot<absl::Status>>());
  simulation_.RunUntilIdle();
  ASSERT_TRUE(sent->has_value());
  EXPECT_EQ((*sent)->code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(MayBeWritten(**sent));
  EXPECT_EQ((*waits)->code(), StatusCode::kFailedPrecondition);
  EXPECT_FALSE(MayBeWritten(**waits));
}

}  // namespace
}  // namespace zkrecipes::testing::memory

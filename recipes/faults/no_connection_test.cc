// SPDX-License-Identifier: Apache-2.0
//
// A client that has no connection for a session timeout reports why, once for each such time.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "recipes/lock_fixture.h"
#include "testing/memory/model_ensemble.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A name server that is mute.
class MuteResolver : public zk::loop::Resolver {
 public:
  void Resolve(const std::vector<zk::ServerAddress>&, Each) override {}
};

class NoConnectionTest : public LockInMemoryTest {
 protected:
  using enum NoConnection;
  static constexpr absl::Duration kT = absl::Seconds(10);  // the session timeout
  static constexpr absl::Duration kMoment = absl::Milliseconds(10);

  // Not connected yet.
  void Begin(ClientOptions options = {}) {
    user_.host = simulation_.AddHost();
    Begin(simulation_.NewClient(user_.host, Reporting(std::move(options))));
  }
  void Begin(const std::shared_ptr<internal::ClientCore>& core) {
    user_.client = internal::ClientAccess::Wrap(core);
    core->Start([](const absl::Status&) {});
    simulation_.RunUntilIdle();
  }
  void BeginConnected(ClientOptions options = {}) {
    memory::Start(simulation_, user_, Reporting(std::move(options)));
    EXPECT_EQ(user_.client->state(), ClientState::kConnected);
  }
  ClientOptions Reporting(ClientOptions options) {
    options.on_session_report = [this](const SessionReport& report) {
      if (report.trouble.empty()) {
        EXPECT_EQ(report.cut_off, absl::ZeroDuration());
        EXPECT_THAT(report.causes, IsEmpty());
      } else {
        told_.push_back(report);
      }
    };
    return options;
  }
  void CutOff() {
    user_.host->set_network(Host::Network::kDown);
    simulation_.RunUntilIdle();
  }
  std::vector<SessionReport> Take() { return std::exchange(told_, {}); }

  LockUser user_;
  std::vector<SessionReport> told_;
};

TEST_F(NoConnectionTest, IsReportedOnceASessionTimeoutForAsLongAsItLasts) {
  BeginConnected();
  const int64_t session = user_.client->session_id();
  CutOff();
  PassTime(kT - kMoment);
  EXPECT_THAT(Take(), IsEmpty());
  PassTime(2 * kMoment);
  const std::vector<SessionReport> first = Take();
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].session, session) << "it learns of the expiry only from a server";
  EXPECT_EQ(first[0].timeout, kT);
  EXPECT_EQ(first[0].cut_off, kT);
  EXPECT_THAT(first[0].causes, ElementsAre(kRefused));
  EXPECT_THAT(first[0].trouble, HasSubstr("memory-0:2181"));
  PassTime(5 * kT);
  const std::vector<SessionReport> later = Take();
  ASSERT_THAT(later, SizeIs(5));
  EXPECT_EQ(later[4].cut_off, 6 * kT);
  user_.host->set_network(Host::Network::kUp);
  PassTime(10 * kT);
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(NoConnectionTest, IsReportedWithTheTextThatCallsAreGiven) {
  BeginConnected();
  CutOff();
  PassTime(kT + kMoment);
  user_.Acquire({absl::ZeroDuration()});
  simulation_.RunUntilIdle();
  const std::vector<SessionReport> told = Take();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(user_.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(user_.result->status().message()), HasSubstr(told[0].trouble));
}

TEST_F(NoConnectionTest, IsReportedOfANameThatIsMisspelt) {
  Begin({.servers = "nowhere:1,not-here:2"});
  PassTime(2 * kT + kMoment);
  const std::vector<SessionReport> told = Take();
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_EQ(told[0].session, 0);
  EXPECT_EQ(told[0].cut_off, kT);
  EXPECT_THAT(told[0].causes, ElementsAre(kNameNotFound));
  EXPECT_EQ(told[0].trouble,
            "no server's name could be resolved (nowhere:1: no server of the ensemble in memory; "
            "not-here:2: no server of the ensemble in memory)");
}

TEST_F(NoConnectionTest, NamesEachCauseIfServersDiffer) {
  user_.host = simulation_.AddHost();
  user_.host->set_network(Host::Network::kDown);
  user_.host->set_drops(1, true);
  Begin(simulation_.NewClient(user_.host, Reporting({.servers = "memory-0,memory-1,nowhere"})));
  PassTime(2 * kT + kMoment);
  const std::vector<SessionReport> told = Take();
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_THAT(told[1].causes, ElementsAre(kNameNotFound, kRefused, kSilent)) << told[1].trouble;
  EXPECT_THAT(told[1].trouble, HasSubstr("nowhere:2181 could not be resolved"));
  EXPECT_THAT(told[1].trouble, HasSubstr("memory-0:2181 (0) refused the connection"));
  EXPECT_THAT(told[1].trouble, HasSubstr("memory-1:2181 (1) did not answer in time"));
}

// No name is ever answered, so the session has nothing to announce.
TEST_F(NoConnectionTest, IsReportedWhileANameServerIsMute) {
  user_.host = simulation_.AddHost();
  ClientOptions options = Reporting({});
  options.executor = user_.host;
  Begin(internal::ClientCore::CreateIn(
      internal::Environment{user_.host, user_.host, std::make_shared<MuteResolver>(), [] {}},
      std::move(options), *zk::ParseServerList("zk1:2181")));
  PassTime(kT + kMoment);
  const std::vector<SessionReport> told = Take();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_THAT(told[0].causes, ElementsAre(kNameNotFound));
  EXPECT_EQ(told[0].trouble, "the servers' names are not resolved yet");
}

TEST_F(NoConnectionTest, IsNotReportedOfConnectionsThatComeBackInTime) {
  BeginConnected();
  for (int i = 0; i < 20; ++i) {
    CutOff();
    PassTime(kT / 2);
    user_.host->set_network(Host::Network::kUp);
    PassTime(kT / 4);  // so that the timer, a session timeout after the first loss, meets another
  }
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(NoConnectionTest, KeepsOneTimerHoweverOftenTheConnectionGoes) {
  BeginConnected();
  PassTime(kT);
  const size_t before = user_.host->timers();
  for (int i = 0; i < 50; ++i) {
    CutOff();
    user_.host->set_network(Host::Network::kUp);
    PassTime(absl::Milliseconds(500));
  }
  EXPECT_LE(user_.host->timers(), before + 10);
}

TEST_F(NoConnectionTest, IsNotReportedOnceTheClientIsClosed) {
  BeginConnected();
  CutOff();
  PassTime(kT + kMoment);
  EXPECT_THAT(Take(), SizeIs(1));
  user_.client->CloseAsync({}, [](const absl::Status&) {});
  PassTime(5 * kT);
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(NoConnectionTest, IsReportedOfAClientThatTheServersRefuseForGood) {
  Simulation keepers({.traits = ServerTraits::ClickHouseKeeper()});
  user_.host = keepers.AddHost();
  const auto core = keepers.NewClient(user_.host, Reporting({}));
  user_.client = internal::ClientAccess::Wrap(core);
  core->Start([](const absl::Status&) {});
  keepers.RunUntil(keepers.now() + 2 * kT + kMoment);
  EXPECT_EQ(user_.client->state(), ClientState::kClosed);
  const std::vector<SessionReport> told = Take();
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_THAT(told[1].causes, ElementsAre(kRejected));
  EXPECT_THAT(told[1].trouble, HasSubstr("ClickHouse Keeper"));
  user_.client.reset();
}

// It would be the one that waits longest, and hide every outage of those that the client works by.
TEST_F(NoConnectionTest, IsNotReportedOfAFurtherSessionThatIsRefusedForGood) {
  BeginConnected({.servers = simulation_.servers() + LongNamespace()});
  model().set_keeper(true);
  std::vector<absl::StatusOr<Lease>> leases = AcquireAll(user_.client, 600);
  ASSERT_FALSE(leases.back().ok()) << "no further session was needed";
  PassTime(3 * kT);
  EXPECT_THAT(Take(), IsEmpty());
  CutOff();
  PassTime(kT + kMoment);
  const std::vector<SessionReport> told = Take();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].index, 0);
  EXPECT_THAT(told[0].causes, ElementsAre(kRefused));
  leases.clear();
}

TEST_F(NoConnectionTest, IsReportedOfAFurtherSessionThatIsTriedAgainSinceThen) {
  BeginConnected({.servers = simulation_.servers() + LongNamespace()});
  model().set_keeper(true);
  std::vector<absl::StatusOr<Lease>> leases = AcquireAll(user_.client, 600);
  ASSERT_FALSE(leases.back().ok()) << "no further session was needed";
  PassTime(absl::Minutes(10));
  EXPECT_THAT(Take(), IsEmpty());
  model().set_keeper(false);
  for (int server = 0; server < 3; ++server) user_.host->set_drops(server, true);
  std::optional<Lease> lease;
  Lock(user_.client, LongPath(600)).AcquireAsync({}, [&lease](absl::StatusOr<Lease> answer) {
    lease = *std::move(answer);
  });
  PassTime(kT - kMoment);
  EXPECT_THAT(Take(), IsEmpty());
  PassTime(2 * kMoment);
  const std::vector<SessionReport> told = Take();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].index, 1);
  EXPECT_EQ(told[0].cut_off, kT);
  for (int server = 0; server < 3; ++server) user_.host->set_drops(server, false);
  PassTime(2 * kT);
  EXPECT_TRUE(lease.has_value());
  lease.reset();
  leases.clear();
}

// Thirty-two sessions that lose their connections at once are one line in a log.
TEST_F(NoConnectionTest, IsReportedOnceForAllSessionsOfTheClient) {
  BeginConnected({.servers = simulation_.servers() + LongNamespace()});
  std::vector<absl::StatusOr<Lease>> leases = AcquireAll(user_.client, 600);
  for (const auto& lease : leases) ASSERT_TRUE(lease.ok()) << lease.status();
  ASSERT_GT(model().connections().size(), 1u);
  CutOff();
  PassTime(3 * kT + kMoment);
  EXPECT_THAT(Take(), SizeIs(3));
  leases.clear();
}

}  // namespace
}  // namespace zkrecipes::testing::memory

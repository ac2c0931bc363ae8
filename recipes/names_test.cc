// SPDX-License-Identifier: Apache-2.0
//
// Names that follow the servers.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recipes/lock_fixture.h"

namespace zkrecipes::testing::memory {
namespace {

constexpr absl::Duration kSecond = absl::Seconds(1);  // a tenth of the session timeout

// Keeps each question until the test answers it.
class SlowResolver : public zk::loop::Resolver {
 public:
  void Resolve(const std::vector<zk::ServerAddress>& servers, Each each) override {
    for (const zk::ServerAddress& server : servers) questions.push_back({NameOf(server), each});
  }
  void Answer(size_t question, const std::string& server) {
    questions[question].second({questions[question].first, {server}, ""});
  }
  std::vector<std::pair<std::string, Each>> questions;
};

class NamesTest : public LockInMemoryTest {
 protected:
  void Start(const std::string& list) {
    internal::Environment environment{host_,
                                      host_,
                                      resolver_,
                                      [host = host_] { host->Stop(); },
                                      absl::Milliseconds(1),
                                      absl::ZeroDuration()};
    ClientOptions options;
    options.executor = host_;
    core_ =
        internal::ClientCore::CreateIn(std::move(environment), options, *zk::ParseServerList(list));
    core_->Start([](const absl::Status&) {});
    simulation_.RunUntilIdle();
  }
  // Server 1, a follower, goes for good.
  void LoseServer() {
    model().StandStill(1, true, simulation_.now());
    host_->BreakConnections();
  }

  const std::shared_ptr<Host> host_ = simulation_.AddHost();
  const std::shared_ptr<SlowResolver> resolver_ = std::make_shared<SlowResolver>();
  std::shared_ptr<internal::ClientCore> core_;
};

TEST_F(NamesTest, AnAnswerForAnEarlierListIsVoid) {
  Start("memory-0");
  resolver_->Answer(0, "0");
  PassTime(kSecond);
  ASSERT_EQ(host_->ConnectedTo(), 0);
  ASSERT_EQ(core_->SetServers("memory-1"), absl::OkStatus());
  ASSERT_EQ(core_->SetServers("memory-2"), absl::OkStatus());
  simulation_.RunUntilIdle();
  ASSERT_EQ(resolver_->questions.size(), 3u);
  resolver_->Answer(1, "1");
  PassTime(kSecond);
  EXPECT_EQ(host_->ConnectedTo(), 0);
  resolver_->Answer(2, "2");
  PassTime(kSecond);
  EXPECT_EQ(host_->ConnectedTo(), 2);
}

TEST_F(NamesTest, ASessionGoesOnWhereItsServersNameHasMovedTo) {
  Start("zk1");
  resolver_->Answer(0, "1");
  PassTime(kSecond);
  const int64_t session = core_->session_id();
  LoseServer();
  PassTime(kSecond);
  ASSERT_EQ(resolver_->questions.size(), 2u) << "it is asked for at once";
  resolver_->Answer(1, "2");
  PassTime(absl::Seconds(3));
  EXPECT_EQ(host_->ConnectedTo(), 2);
  EXPECT_EQ(core_->session_id(), session);
}

TEST_F(NamesTest, AMuteNameServerIsAskedOnceARoundAndKeepsNoOtherNameWaiting) {
  Start("zk1,zk2");
  resolver_->Answer(0, "1");
  PassTime(absl::Milliseconds(900));
  EXPECT_EQ(host_->ConnectedTo(), std::nullopt) << "so that clients spread over the servers";
  PassTime(absl::Milliseconds(200));
  ASSERT_EQ(host_->ConnectedTo(), 1) << "though zk2 is not answered";
  LoseServer();
  PassTime(kSecond);
  ASSERT_EQ(resolver_->questions.size(), 4u);
  resolver_->Answer(3, "2");
  PassTime(absl::Seconds(5));
  EXPECT_EQ(host_->ConnectedTo(), 2) << "though zk1 is not answered: " << core_->trouble();
}

TEST_F(NamesTest, AddressesThatAreKnownAreUsedThoughNoNameIsAnsweredAnyMore) {
  Start("zk1");
  resolver_->Answer(0, "1");
  PassTime(kSecond);
  const int64_t session = core_->session_id();
  model().Expire(session, simulation_.now());
  PassTime(absl::Seconds(5));
  EXPECT_EQ(host_->ConnectedTo(), 1);
  EXPECT_NE(core_->session_id(), session);
}

TEST_F(NamesTest, AnAnswerWithoutTheServerOfTheConnectionEndsNoConnection) {
  Start("zk1,zk2");
  resolver_->Answer(0, "0");
  resolver_->Answer(1, "1");
  PassTime(kSecond);
  host_->BreakConnections();
  PassTime(absl::Seconds(1));
  const std::optional<int> server = host_->ConnectedTo();
  ASSERT_TRUE(server.has_value());
  for (size_t question : {2, 3}) resolver_->Answer(question, "2");
  PassTime(absl::Seconds(1));
  EXPECT_EQ(host_->ConnectedTo(), server) << "a name may stand for a rotating choice of servers";
}

}  // namespace
}  // namespace zkrecipes::testing::memory

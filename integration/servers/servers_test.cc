// SPDX-License-Identifier: Apache-2.0
//
// Tests of the promises of Servers, on those that ZKRECIPES_TEST_ENSEMBLE chooses.

#include "integration/servers/servers.h"

#include "gmock/gmock.h"

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/ensemble_fixture.h"
#include "integration/fixtures/raw_client.h"

namespace zkrecipes::servers {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(60);

class ServersTest : public integration::EnsembleTest {
 protected:
  void SetUp() override {
    ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
    EnsembleTest::SetUp();
  }
  bool Answers(int i) { return ensemble().FourLetterWord(i, "ruok").ok(); }
};

TEST_F(ServersTest, TheOthersGoOnWhenTheLeaderIsKilledAndItComesBack) {
  const int leader = Leader();
  ASSERT_EQ(members().Kill(leader), absl::OkStatus());
  ASSERT_EQ(members().Kill(leader), absl::OkStatus()) << "cannot be repeated";
  EXPECT_FALSE(Answers(leader));
  EXPECT_TRUE(absl::IsFailedPrecondition(members().Pause(leader)));
  EXPECT_TRUE(absl::IsFailedPrecondition(members().Resume(leader)));
  ASSERT_EQ(ensemble().WaitForQuorum(kPatience), absl::OkStatus());
  EXPECT_NE(Leader(), leader);

  ASSERT_EQ(members().Start(leader), absl::OkStatus());
  EXPECT_TRUE(Answers(leader));
  ASSERT_EQ(members().Start(leader), absl::OkStatus()) << "cannot be repeated";
  EXPECT_EQ(members().WaitForAll(kPatience), absl::OkStatus());
}

TEST_F(ServersTest, APausedMemberIsSilentUntilItIsResumed) {
  const int leader = Leader();
  ASSERT_EQ(members().Pause(leader), absl::OkStatus());
  ASSERT_EQ(members().Pause(leader), absl::OkStatus()) << "cannot be repeated";
  EXPECT_TRUE(absl::IsDeadlineExceeded(ensemble().FourLetterWord(leader, "ruok").status()));
  ASSERT_EQ(ensemble().WaitForQuorum(kPatience), absl::OkStatus());
  EXPECT_NE(Leader(), leader);

  ASSERT_EQ(members().Resume(leader), absl::OkStatus());
  ASSERT_EQ(members().Resume(leader), absl::OkStatus()) << "cannot be repeated";
  EXPECT_EQ(members().WaitForAll(kPatience), absl::OkStatus());
}

TEST_F(ServersTest, APausedMemberCanBeKilledAndEveryMemberCanBeDownAtOnce) {
  ASSERT_TRUE(integration::CreateNode(ensemble().server(0), "/before-the-end"));
  ASSERT_EQ(members().Pause(0), absl::OkStatus());
  ASSERT_EQ(members().Kill(0), absl::OkStatus());
  ASSERT_EQ(members().Stop(1), absl::OkStatus());
  ASSERT_EQ(members().Stop(1), absl::OkStatus()) << "cannot be repeated";
  ASSERT_EQ(members().Kill(2), absl::OkStatus());
  EXPECT_FALSE(members().Leader().ok());
  ASSERT_EQ(Heal(members(), kPatience), absl::OkStatus());
  EXPECT_TRUE(integration::NodeExists(ensemble().server(0), "/before-the-end"));
  EXPECT_FALSE(integration::NodeExists(ensemble().server(0), "/before-the-end-not"));
}

// ---- how the fixtures read what servers say of themselves ---------------------------------------

TEST(FourLetterAnswers, ConnectionsTellSessionsFromTheWordItself) {
  EXPECT_THAT(
      integration::ParseConnections(
          " /127.0.0.1:42074[1](queued=0,recved=12,sent=11,sid=0x2000011a5c80001,lop=GETD,"
          "est=1700000000000,to=30000,lcxid=0x1f,lzxid=0x100000005,lresp=1,llat=0)\n"
          " /127.0.0.1:42080[0](queued=0,recved=1,sent=0)\n\n"),
      ::testing::ElementsAre(::testing::Pair(0u, 1), ::testing::Pair(0x2000011a5c80001u, 12)));
}

TEST(FourLetterAnswers, MonitorIsAMapOfTexts) {
  EXPECT_THAT(integration::ParseMonitor("zk_version\t3.8.0-x, built\nzk_packets_received\t17\n"),
              ::testing::ElementsAre(::testing::Pair("zk_packets_received", "17"),
                                     ::testing::Pair("zk_version", "3.8.0-x, built")));
}

}  // namespace
}  // namespace zkrecipes::servers

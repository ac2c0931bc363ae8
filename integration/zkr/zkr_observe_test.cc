// SPDX-License-Identifier: Apache-2.0
//
// `zkr observe` on a real ensemble, as a user runs it.

#include <signal.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include <gmock/gmock.h>

#include "integration/zkr/zkr_fixture.h"
#include "zkrecipes/leader_election.h"

namespace zkrecipes::integration {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ZkrObserveTest : public ZkrTest {
 protected:
  static std::vector<std::string> Lines(const Zkr& zkr) {
    return absl::StrSplit(zkr.Out(), '\n', absl::SkipEmpty());
  }
  static bool AwaitLines(const Zkr& zkr, size_t count) {
    return Eventually([&] { return Lines(zkr).size() >= count; });
  }
  Lease Elected(const std::string& id) {
    auto lease = LeaderElection(other(), node_path(), {.id = id}).Campaign({kSoon});
    EXPECT_TRUE(lease.ok()) << lease.status();
    return *std::move(lease);
  }
};

TEST_F(ZkrObserveTest, TellsTheCurrentLeaderAndEveryChange) {
  Lease first = Elected("first");
  auto zkr = Start({"observe", node_path()});
  ASSERT_TRUE(AwaitLines(*zkr, 1));
  const std::string node = Queue().at(0).node, token = first.token().ToString();
  ASSERT_TRUE(std::move(first).Release({kSoon}).ok());
  ASSERT_TRUE(AwaitLines(*zkr, 2));
  const Lease second = Elected("second");
  ASSERT_TRUE(AwaitLines(*zkr, 3));
  const auto lines = Lines(*zkr);
  EXPECT_EQ(lines[0], "first  leads  token " + token + "  " + node);
  EXPECT_EQ(lines[1], "-  nobody leads");
  EXPECT_THAT(lines[2], HasSubstr("second  leads  token " + second.token().ToString()));
  EXPECT_THAT(zkr->Err(), IsEmpty());
}

TEST_F(ZkrObserveTest, TellsProgramsInObjects) {
  auto zkr = Start({"observe", node_path(), "--json"});
  ASSERT_TRUE(AwaitLines(*zkr, 1));
  const Lease lease = Elected("first");
  ASSERT_TRUE(AwaitLines(*zkr, 2));
  const auto lines = Lines(*zkr);
  EXPECT_EQ(json::parse(lines[0]), json({{"candidate", nullptr}}));
  EXPECT_EQ(json::parse(lines[1]), json({{"candidate", "first"},
                                         {"token", lease.token().value()},
                                         {"node", Queue().at(0).node},
                                         {"owner", {{"id", "first"}}}}));
}

TEST_F(ZkrObserveTest, SaysNothingOfANewValue) {
  const Lease lease = Elected("first");
  auto zkr = Start({"observe", node_path()});
  ASSERT_TRUE(AwaitLines(*zkr, 1));
  LeaderElection election(other(), node_path());
  ASSERT_TRUE(election.Proclaim(lease, "new", {kSoon}).ok());
  DeleteNode(Queue().at(0).node);
  ASSERT_TRUE(AwaitLines(*zkr, 2));
  EXPECT_EQ(Lines(*zkr)[1], "-  nobody leads");
}

TEST_F(ZkrObserveTest, GoesOnWhenServersDie) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  auto zkr = Start({"observe", node_path()});
  ASSERT_TRUE(AwaitLines(*zkr, 1));
  for (int i = 0; i < ensemble().size(); ++i) {
    ASSERT_TRUE(members().Kill(i).ok());
    ASSERT_TRUE(ensemble().Heal().ok());
  }
  const Lease lease = Elected("first");
  ASSERT_TRUE(AwaitLines(*zkr, 2));
  EXPECT_THAT(Lines(*zkr)[1], HasSubstr("first  leads"));
}

// A program that goes on believing in the leader of before would be wrong.
TEST_F(ZkrObserveTest, TellsProgramsThatTheLeaderIsUnknownDuringAnOutage) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  const Lease lease = Elected("first");
  auto zkr = Start({"observe", node_path(), "--json", "-q", "--session-timeout", "40s"});
  ASSERT_TRUE(AwaitLines(*zkr, 1));
  for (int i = 0; i < ensemble().size(); ++i) ASSERT_TRUE(members().Pause(i).ok());
  EXPECT_TRUE(Eventually([&] { return Lines(*zkr).size() >= 2; }, absl::Seconds(40)));
  EXPECT_EQ(Lines(*zkr).back(), R"({"unknown":true})");
  ASSERT_TRUE(ensemble().Heal().ok());
  // The same leader, if its own session has lived.
  EXPECT_TRUE(Eventually([&] { return !absl::StrContains(Lines(*zkr).back(), "unknown"); }));
  EXPECT_THAT(zkr->Err(), IsEmpty());
}

TEST_F(ZkrObserveTest, EndsByASignal) {
  for (const int signal : {SIGINT, SIGTERM}) {
    auto zkr = Start({"observe", node_path()});
    ASSERT_TRUE(AwaitLines(*zkr, 1));
    zkr->Signal(signal);
    EXPECT_EQ(zkr->Wait(), 1000 + signal);
    EXPECT_THAT(zkr->Err(), IsEmpty());
  }
}

}  // namespace
}  // namespace zkrecipes::integration

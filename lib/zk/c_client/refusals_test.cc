// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/c_client/refusals.h"

#include <gtest/gtest.h>

namespace zkrecipes::zk::c_client {
namespace {

using Did = Refusals::Did;

constexpr absl::Duration kT = absl::Seconds(10);
const Resolution kServers(NumericServers{"a", "b"});

base::BootTime At(int seconds) { return base::BootTime::SinceBoot(absl::Seconds(seconds)); }

class RefusalsTest : public testing::Test {
 protected:
  void HangUpThenAnswer(const std::string& server, int second) {
    refusals_.Note(server, Did::kHungUp, /*asked=*/false, At(second));
    refusals_.Note(server, Did::kRefused, /*asked=*/true, At(second));
  }
  Refusals refusals_;
};

TEST_F(RefusalsTest, AsksAServerThatHungUpOnceNoLeaseCanBeSaved) {
  EXPECT_FALSE(refusals_.Asks("a", At(99), kT));
  refusals_.Note("a", Did::kHungUp, false, At(100));
  EXPECT_FALSE(refusals_.Asks("a", At(109), kT));
  EXPECT_TRUE(refusals_.Asks("a", At(110), kT));
  EXPECT_FALSE(refusals_.Asks("b", At(110), kT));
}

TEST_F(RefusalsTest, AsksAndTriesInTurn) {
  refusals_.Note("a", Did::kHungUp, false, At(100));
  ASSERT_TRUE(refusals_.Asks("a", At(110), kT));
  refusals_.Note("a", Did::kRefused, true, At(110));
  EXPECT_FALSE(refusals_.Asks("a", At(110), kT)) << "it may have caught up";
  refusals_.Note("a", Did::kHungUp, false, At(111));
  EXPECT_TRUE(refusals_.Asks("a", At(111), kT));
}

TEST_F(RefusalsTest, GivesUpWhenMostServersHaveRefusedForATimeout) {
  HangUpThenAnswer("a", 100);
  EXPECT_FALSE(refusals_.MostRefuse(kServers, At(200), kT));
  HangUpThenAnswer("b", 105);
  EXPECT_FALSE(refusals_.MostRefuse(kServers, At(114), kT));
  refusals_.Note("a", Did::kHungUp, false, At(114));
  EXPECT_TRUE(refusals_.MostRefuse(kServers, At(115), kT));
}

TEST_F(RefusalsTest, GivesUpThoughOneServerOfThreeIsDown) {
  for (const char* server : {"a", "b"}) HangUpThenAnswer(server, 100);
  refusals_.Note("c", Did::kOther, /*asked=*/false, At(100));
  EXPECT_TRUE(refusals_.MostRefuse(NumericServers{"a", "b", "c"}, At(110), kT));
  EXPECT_FALSE(refusals_.MostRefuse(NumericServers{"a", "b", "c", "d"}, At(110), kT))
      << "half may be foreign";
}

// Each server listens on IPv4 only, and its name has an address of each family.
TEST_F(RefusalsTest, CountsServersAndNotTheirAddresses) {
  Resolution servers(NumericServers{"a", "[a]", "b", "[b]", "c", "[c]"});
  servers.listed = {
      {"one", {"a", "[a]"}, ""}, {"two", {"[b]", "b"}, ""}, {"three", {"c", "[c]"}, ""}};
  HangUpThenAnswer("a", 100);
  for (const char* closed : {"[a]", "[b]", "[c]"})
    refusals_.Note(closed, Did::kOther, false, At(101));
  EXPECT_FALSE(refusals_.MostRefuse(servers, At(120), kT));
  HangUpThenAnswer("b", 100);
  EXPECT_TRUE(refusals_.MostRefuse(servers, At(120), kT));
  servers.listed = {{"all", servers.addresses, ""}};
  EXPECT_TRUE(refusals_.MostRefuse(servers, At(120), kT)) << "of three behind one name";
  servers.listed = {
      {"one", {"a", "[a]"}, ""}, {"two", {"b"}, ""}, {"three", {}, "?"}, {"four", {}, "?"}};
  EXPECT_FALSE(refusals_.MostRefuse(servers, At(120), kT)) << "half of four";
}

TEST_F(RefusalsTest, CountsAnewForAServerThatDidAnythingElse) {
  for (const bool asked : {false, true}) {
    for (const Did did : {Did::kHungUp, Did::kOther}) {
      if (did == Did::kHungUp && !asked) continue;
      refusals_ = {};
      HangUpThenAnswer("a", 100);
      HangUpThenAnswer("b", 100);
      refusals_.Note("b", did, asked, At(105));  // it has lost its quorum, or is down
      EXPECT_FALSE(refusals_.MostRefuse(kServers, At(120), kT));
      HangUpThenAnswer("b", 120);
      EXPECT_FALSE(refusals_.MostRefuse(kServers, At(129), kT));
      EXPECT_TRUE(refusals_.MostRefuse(kServers, At(130), kT));
    }
  }
}

TEST_F(RefusalsTest, ForgetsAllOnceTheSessionIsServed) {
  HangUpThenAnswer("a", 100);
  HangUpThenAnswer("b", 100);
  refusals_.Served();
  EXPECT_FALSE(refusals_.MostRefuse(kServers, At(120), kT));
}

}  // namespace
}  // namespace zkrecipes::zk::c_client

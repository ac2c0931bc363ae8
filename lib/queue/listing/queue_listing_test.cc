// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/listing/queue_listing.h"

#include <algorithm>
#include <ctime>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/queue/machine/node_name.h"

namespace zkrecipes::queue::listing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kGuid[] = "1b4e28ba-2fa1-41d2-883f-0016d3cca427";

machine::ListedNode Node(machine::Dialect dialect, machine::Mode mode, int sequence) {
  machine::ListedNode node;
  node.name =
      absl::StrCat(machine::NodePrefix(dialect, mode, kGuid), absl::StrFormat("%010d", sequence));
  node.stat.czxid = 1000 + sequence;
  return node;
}

machine::ListedNode Exclusive(int sequence) {
  return Node(machine::Dialect::kCurator, machine::Mode::kExclusive, sequence);
}
machine::ListedNode Reader(int sequence) {
  return Node(machine::Dialect::kCurator, machine::Mode::kShared, sequence);
}
machine::ListedNode Writer(int sequence) {
  return Node(machine::Dialect::kCurator, machine::Mode::kSharedWriter, sequence);
}

// "<token> <mode>", and a star for one that holds.
std::vector<std::string> Described(const std::vector<machine::ListedNode>& nodes) {
  std::vector<std::string> lines;
  for (const ContenderInfo& info : DescribeQueue(nodes)) {
    EXPECT_EQ(info.position, static_cast<int>(lines.size()));
    lines.push_back(
        absl::StrCat(info.token.value(), " ", ToString(info.mode), info.holds ? " *" : ""));
  }
  return lines;
}

TEST(QueueListing, IsInQueueOrderAndTheFirstHolds) {
  EXPECT_THAT(Described({Exclusive(9), Exclusive(10), Exclusive(2)}),
              ElementsAre("1002 exclusive *", "1009 exclusive", "1010 exclusive"));
}

TEST(QueueListing, OrdersSuffixesAsSignedNumbers) {
  EXPECT_THAT(Described({Exclusive(5), Exclusive(-7)}),
              ElementsAre("993 exclusive *", "1005 exclusive"));
}

TEST(QueueListing, SaysThatReadersBeforeTheFirstWriterHoldTogether) {
  EXPECT_THAT(Described({Reader(1), Reader(2), Writer(3), Reader(4)}),
              ElementsAre("1001 shared *", "1002 shared *", "1003 exclusive", "1004 shared"));
}

TEST(QueueListing, MixesDialects) {
  const auto queue =
      DescribeQueue({Node(machine::Dialect::kKazoo, machine::Mode::kExclusive, 2), Exclusive(1)});
  ASSERT_EQ(queue.size(), 2u);
  EXPECT_EQ(queue[0].dialect, NameDialect::kCurator);
  EXPECT_EQ(queue[1].dialect, NameDialect::kKazoo);
  EXPECT_FALSE(queue[1].holds);
}

TEST(QueueListing, LeavesOutWhatIsNoContender) {
  EXPECT_THAT(DescribeQueue({}), IsEmpty());
  EXPECT_THAT(
      Described({machine::ListedNode{"readme", "", {}}, Exclusive(3), machine::ListedNode{}}),
      ElementsAre("1003 exclusive *"));
}

// In one pass: ten times as many take ten times as long, not a hundred times.
TEST(QueueListing, OfManyNodesCostsNoMoreForEach) {
  const auto cost = [](int size) {
    std::vector<machine::ListedNode> nodes;
    for (int i = 0; i < size; ++i) nodes.push_back(i % 2 == 0 ? Reader(i) : Writer(i));
    clock_t least = std::numeric_limits<clock_t>::max();
    for (int run = 0; run < 3; ++run) {
      const clock_t began = clock();
      EXPECT_EQ(DescribeQueue(nodes).size(), static_cast<size_t>(size));
      least = std::min(least, clock() - began);
    }
    return static_cast<double>(least);
  };
  EXPECT_LT(cost(5000), 40 * cost(500));
}

TEST(QueueListing, BelievesATokenInTheDataOfReadersOnly) {
  machine::ListedNode reader = Reader(1), writer = Writer(2);
  reader.data = writer.data = R"({"token":7})";
  EXPECT_THAT(Described({reader, writer}), ElementsAre("7 shared *", "1002 exclusive"));
}

// One that may not be read has most likely the number of the others, wherever they are.
TEST(QueueListing, CountsPermitsThatMayNotBeReadByWhatTheOthersSay) {
  const auto permit = [](int sequence, bool readable) {
    machine::ListedNode node = Node(machine::Dialect::kCurator, machine::Mode::kPermit, sequence);
    if (readable) node.data = R"({"permits":3})";
    if (!readable) node.stat.czxid = 0;
    return node;
  };
  const auto queue = DescribeQueue(
      {permit(1, false), permit(2, false), permit(3, true), permit(4, false), permit(5, true)});
  for (const ContenderInfo& info : queue) EXPECT_EQ(info.holds, info.position < 3);
}

TEST(QueueListing, TakesNoNumberOfPermitsThatThereMayNotBe) {
  machine::ListedNode node = Node(machine::Dialect::kCurator, machine::Mode::kPermit, 1);
  for (const char* number : {"1001", "18446744073709551615", "0", "-1"}) {
    node.data = absl::StrCat(R"({"permits":)", number, "}");
    EXPECT_FALSE(DescribeQueue({node})[0].holds) << number;
    EXPECT_EQ(DescribeQueue({node})[0].permits, 0) << number;
  }
}

TEST(QueueListing, KnowsWhoMayKeepTheLockIdle) {
  machine::ListedNode node = Exclusive(1);
  const auto stays = [&node](const char* data, bool candidates) {
    node.data = data;
    return DescribeQueue({node}, candidates).at(0).stays;
  };
  EXPECT_TRUE(stays(R"({"host":"db7","pid":7,"stays":true})", false));
  EXPECT_FALSE(stays(R"({"host":"db7","pid":7})", false));
  EXPECT_FALSE(stays(R"({"stays":"true"})", false));
  EXPECT_FALSE(stays(R"({"stays":true})", true)) << "a candidate's id";
}

TEST(QueueListing, TellsWhatTheNodeSays) {
  machine::ListedNode node = Node(machine::Dialect::kCurator, machine::Mode::kLeader, 4);
  node.data = "10.0.0.7";
  node.stat.ephemeral_owner = 77;
  node.stat.ctime_ms = 1'700'000'000'123;
  const auto queue = DescribeQueue({node});
  ASSERT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue[0].mode, GrantMode::kLeader);
  EXPECT_EQ(queue[0].node, node.name);
  EXPECT_EQ(queue[0].node_czxid, 1004);
  EXPECT_EQ(queue[0].session, 77);
  EXPECT_EQ(queue[0].owner.id, "10.0.0.7");
  EXPECT_EQ(queue[0].since, absl::FromUnixMillis(1'700'000'000'123));
}

}  // namespace
}  // namespace zkrecipes::queue::listing

// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/listing/node_data.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace zkrecipes::queue::listing {
namespace {

const OwnerInfo kNamed{.id = "backup", .host = "db7", .pid = 4711};
const OwnerInfo kNameless{.id = "", .host = "db7", .pid = 4711};

void ExpectOwner(const OwnerInfo& owner, const OwnerInfo& expected) {
  EXPECT_EQ(owner.id, expected.id);
  EXPECT_EQ(owner.host, expected.host);
  EXPECT_EQ(owner.pid, expected.pid);
}

OwnerInfo Read(const std::string& data) { return ParseOwner(machine::Mode::kExclusive, data); }

TEST(Owner, IsJsonInCuratorsLockNodes) {
  EXPECT_EQ(OwnerData(machine::Dialect::kCurator, machine::Mode::kExclusive, kNamed),
            R"({"host":"db7","id":"backup","pid":4711})");
  EXPECT_EQ(OwnerData(machine::Dialect::kCurator, machine::Mode::kShared, kNameless),
            R"({"host":"db7","pid":4711})");
}

TEST(Owner, IsARawIdWhereTheDialectsToolsShowItAsItIs) {
  for (const machine::Mode mode : {machine::Mode::kExclusive, machine::Mode::kShared,
                                   machine::Mode::kSharedWriter, machine::Mode::kLeader}) {
    EXPECT_EQ(OwnerData(machine::Dialect::kKazoo, mode, kNamed), "backup");
    EXPECT_EQ(OwnerData(machine::Dialect::kKazoo, mode, kNameless), "db7:4711");
  }
  EXPECT_EQ(OwnerData(machine::Dialect::kCurator, machine::Mode::kLeader, kNamed), "backup");
}

TEST(Owner, IsReadBackAsItWasWritten) {
  for (const OwnerInfo& owner : {kNamed, kNameless}) {
    ExpectOwner(Read(OwnerData(machine::Dialect::kCurator, machine::Mode::kExclusive, owner)),
                owner);
  }
  const OwnerInfo odd{.id = "a \"quoted\"\n caf\xc3\xa9 {}", .host = "", .pid = 0};
  ExpectOwner(Read(OwnerData(machine::Dialect::kCurator, machine::Mode::kExclusive, odd)), odd);
}

TEST(Owner, OfAnotherLibraryIsTheWholeText) {
  for (const std::string text : {"10.0.0.7", "", "[1,2]", "42", "\"x\"", "{\"half\":", "\xff"}) {
    ExpectOwner(Read(text), {.id = text, .host = "", .pid = 0});
  }
}

TEST(Owner, ThatIsJsonOfAnotherShapeLosesOnlyWhatDoesNotFit) {
  ExpectOwner(Read(R"({"id":7,"host":"db7","pid":"x","more":[]})"),
              {.id = "", .host = "db7", .pid = 0});
  ExpectOwner(Read("{}"), {});
}

TEST(Owner, KeepsItsMembersBesideNestedOnes) {
  ExpectOwner(Read(R"({"a":{"id":"x","b":[{"host":"y"}]},"id":"backup","host":"db7","pid":4711})"),
              kNamed);
  EXPECT_EQ(TokenIn(machine::Mode::kShared, R"({"a":{"token":1},"token":2,"b":[3]})"), 2);
}

// Ten times as much takes ten times as long, not a hundred times.
TEST(Owner, ThatAStrangerNestsDeeplyCostsNoMoreForEachLevel) {
  const auto cost = [](size_t depth) {
    clock_t least = std::numeric_limits<clock_t>::max();
    for (int run = 0; run < 5; ++run) {
      const clock_t began = clock();
      EXPECT_EQ(Read(std::string(depth, '[')).host, "");
      least = std::min(least, clock() - began);
    }
    return static_cast<double>(least);
  };
  EXPECT_LT(cost(100000), 40 * cost(10000));
}

TEST(Owner, OfALeaderOrMemberIsTheFirstLineEvenIfItLooksLikeJson) {
  for (const machine::Mode mode : {machine::Mode::kLeader, machine::Mode::kMember}) {
    for (const std::string id : {"backup", "", R"({"id":"x","token":7})"}) {
      for (const std::string rest : {"", "\n", "\nvalue\nof lines"}) {
        ExpectOwner(ParseOwner(mode, id + rest), {.id = id, .host = "", .pid = 0});
        EXPECT_EQ(TokenIn(mode, id + rest), std::nullopt);
      }
    }
  }
}

TEST(Owner, HasRoomForOneMarkBesideAllThatIsThere) {
  const auto mark = [](const std::string& data, uint64_t bits) {
    return WithMark(machine::Dialect::kCurator, machine::Mode::kExclusive, data, bits);
  };
  const std::string data = OwnerData(machine::Dialect::kCurator, machine::Mode::kExclusive, kNamed);
  const std::string marked = data.substr(0, data.size() - 1) + R"(,"write":"000000000000002a"})";
  EXPECT_EQ(mark(data, 42), marked);
  EXPECT_EQ(mark(*mark(data, 7), 42), marked);
  ExpectOwner(Read(marked), kNamed);
  const std::string nested = R"({"a":{"write":"000000000000002a"},"b":1})";
  EXPECT_EQ(mark(nested, 42), nested.substr(0, nested.size() - 1) + marked.substr(data.size() - 1));
  for (const char* none : {"", "id", "{}", "[1]", "{\"a\":1} "})
    EXPECT_EQ(mark(none, 1), std::nullopt);
}

TEST(Owner, ThatIsShownAsARawIdHasNoRoomForAMark) {
  const std::string object = R"({"id":"x"})";
  EXPECT_EQ(WithMark(machine::Dialect::kKazoo, machine::Mode::kExclusive, object, 1), std::nullopt);
  EXPECT_EQ(WithMark(machine::Dialect::kCurator, machine::Mode::kLeader, object, 1), std::nullopt);
  EXPECT_TRUE(
      WithMark(machine::Dialect::kKazoo, machine::Mode::kShared, R"({"token":7})", 1).has_value());
}

TEST(Owner, IsThisProcess) {
  EXPECT_EQ(ThisOwnersData(machine::Dialect::kCurator, machine::Mode::kExclusive, "me"),
            OwnerData(machine::Dialect::kCurator, machine::Mode::kExclusive, ThisOwner("me")));
  EXPECT_EQ(ThisOwnersData(machine::Dialect::kKazoo, machine::Mode::kExclusive, "me"), "me");
  const OwnerInfo owner = ThisOwner("me");
  EXPECT_EQ(owner.id, "me");
  EXPECT_EQ(owner.pid, getpid());
  EXPECT_FALSE(owner.host.empty());
}

TEST(LeaderNode, IsTheIdAloneWithoutAValue) { EXPECT_EQ(CandidateData("a", ""), "a"); }

TEST(LeaderNode, IsReadBackAsItWasWritten) {
  for (const std::string& value :
       {std::string(), std::string("v"), std::string("\n"), std::string("a\nb\0c", 5)}) {
    const Candidate candidate = ParseCandidate(CandidateData("id", value));
    EXPECT_EQ(candidate.id, "id");
    EXPECT_EQ(candidate.value, value);
  }
}

TEST(LeaderNode, OfAnotherLibraryIsAnIdWhateverItLooksLike) {
  for (const std::string data : {"", "10.0.0.7:80", R"({"id":"x"})"}) {
    EXPECT_EQ(ParseCandidate(data).id, data);
    EXPECT_EQ(ParseCandidate(data).value, "");
  }
}

TEST(LeaderNode, SaysWhoLeads) {
  zk::Stat stat;
  stat.czxid = 7;
  stat.ephemeral_owner = 9;
  const Leader leader = DescribeLeader({"n-1", "id\nvalue", stat});
  EXPECT_EQ(leader.owner.id, "id");
  EXPECT_EQ(leader.value, "value");
  EXPECT_EQ(leader.token, FencingToken(7));
  EXPECT_EQ(leader.node, "n-1");
  EXPECT_EQ(leader.session, 9);
}

TEST(LeaderNode, RefusesACandidateThatCouldNotBeReadBack) {
  EXPECT_TRUE(CheckCandidate({"caf\xc3\xa9", std::string(64 * 1024, '\0')}).ok());
  EXPECT_TRUE(CheckCandidate({std::string(512, 'x'), ""}).ok());
  for (const Candidate& bad :
       {Candidate{"a\nb", ""}, Candidate{"a\r", ""}, Candidate{"\xff", ""},
        Candidate{std::string(513, 'x'), ""}, Candidate{"a", std::string(64 * 1024 + 1, 'x')}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckCandidate(bad))) << bad.id;
  }
}

}  // namespace
}  // namespace zkrecipes::queue::listing

// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/civil_time.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/queue/listing/queue_listing.h"
#include "lib/queue/machine/admission.h"
#include "lib/queue/machine/node_name.h"

namespace zkrecipes::queue::listing {
namespace {

constexpr char kGuid[] = "1b4e28ba-2fa1-41d2-883f-0016d3cca427";
constexpr char kOwner[] = R"({"id":"ledger-7","host":"web3","pid":4711})";

std::string Name(int sequence, machine::Mode mode = machine::Mode::kExclusive) {
  return absl::StrCat(machine::NodePrefix(machine::Dialect::kCurator, mode, kGuid),
                      absl::StrFormat("%010d", sequence));
}

machine::ListedNode Head(const std::string& data, machine::Mode mode = machine::Mode::kExclusive) {
  machine::ListedNode head{Name(4, mode), data, {}};
  head.stat.czxid = 7;
  const absl::Time joined =
      absl::FromCivil(absl::CivilSecond(2026, 11, 23, 14, 2, 11), absl::UTCTimeZone());
  head.stat.ctime_ms = absl::ToUnixMillis(joined);
  return head;
}

TEST(Rivals, AreTheContendersInFront) {
  const auto rivals = RivalsIn({Name(9), Name(4), "config", Name(7), Name(8)}, Name(8), "");
  EXPECT_EQ(rivals.count, 2u);
  EXPECT_EQ(rivals.head.name, Name(4));
}

TEST(Rivals, AreAllContendersForOneThatHasNoNode) {
  EXPECT_EQ(RivalsIn({Name(9), Name(4), "config"}, "", "").count, 2u);
}

// Nobody waits for a group's member, so an observer must not take it for the leader.
TEST(Rivals, AreNoMembersOfAGroup) {
  const std::string member = Name(3, machine::Mode::kMember);
  const auto rivals = RivalsIn({member, Name(4)}, "", "");
  EXPECT_EQ(rivals.count, 1u);
  EXPECT_EQ(rivals.head.name, Name(4));
  EXPECT_EQ(machine::HeadOf({member, Name(4)}), Name(4));
}

TEST(Rivals, AreCountedFromSignedNumbers) {
  EXPECT_EQ(RivalsIn({Name(5), Name(-7)}, "", "").head.name, Name(-7));
}

TEST(Rivals, DoNotIncludeTheLeaseThatAnUpgradeFollows) {
  const std::string followed = Name(4, machine::Mode::kShared);
  const auto rivals =
      RivalsIn({followed, Name(5, machine::Mode::kShared), Name(6)}, Name(6), followed);
  EXPECT_EQ(rivals.count, 1u);
  EXPECT_EQ(rivals.head.name, Name(5, machine::Mode::kShared));
}

TEST(Rivals, AreToldWithTheHoldersProcessAndSinceWhenItQueues) {
  EXPECT_EQ(Describe({3, Head(kOwner)}),
            "behind 3 others, held by ledger-7 (host web3, pid 4711), in the queue since "
            "2026-11-23T14:02:11Z");
  EXPECT_EQ(Describe({1, {}}), "behind 1 other");
}

TEST(Rivals, AreToldAsFarAsTheHoldersDataSays) {
  EXPECT_THAT(Holder(Head(R"({"host":"web3","pid":4711})")),
              ::testing::StartsWith("held by host web3, pid 4711, "));
  EXPECT_THAT(Holder(Head("{}\nits value"), /*candidates=*/true),
              ::testing::StartsWith("held by {}, "));
  EXPECT_THAT(Holder(Head("node-7\nits value", machine::Mode::kLeader)),
              ::testing::StartsWith("held by node-7, "));
  EXPECT_THAT(Holder(Head("")), ::testing::StartsWith(absl::StrCat("held by ", Name(4), ", ")));
  EXPECT_EQ(Holder({Name(4), "", {}}), absl::StrCat("held by ", Name(4)));  // not read
}

TEST(Rivals, CannotWriteTheMessage) {
  EXPECT_THAT(Holder(Head(absl::StrCat("\x1b[2J", std::string(1000, 'x')))),
              ::testing::StartsWith(absl::StrCat("held by \\033[2J", std::string(76, 'x'), ", ")));
  EXPECT_THAT(Holder(Head("\xc2\x9b[2J")), ::testing::StartsWith("held by \\302\\233[2J, "));
}

TEST(Rivals, AreTheAnswerOfATry) {
  EXPECT_EQ(BusyStatus("/l", {4, Head(kOwner)}),
            absl::AlreadyExistsError(
                "acquire /l: busy: held by ledger-7 (host web3, pid 4711), in the queue since "
                "2026-11-23T14:02:11Z; queued behind it: 3"));
  machine::ListedNode permit = Head("");
  permit.name = Name(4, machine::Mode::kPermit);
  EXPECT_THAT(std::string(BusyStatus("/l", {4, permit}).message()),
              ::testing::EndsWith("; who hold or wait in all: 4"));
  EXPECT_EQ(BusyStatus("/l", {4, {}}),
            absl::AlreadyExistsError("acquire /l: busy: another contender was in the way"));
}

}  // namespace
}  // namespace zkrecipes::queue::listing

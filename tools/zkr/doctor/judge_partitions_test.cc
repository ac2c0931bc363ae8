// SPDX-License-Identifier: Apache-2.0

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tools/zkr/doctor/facts_fixture.h"
#include "tools/zkr/partitions_fixture.h"

namespace zkrecipes::zkr::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using ReadChange = std::function<void(PartitionsRead&)>;

// All three are owned; nobody waits.
PartitionsRead Calm() {
  PartitionsRead read = Shared();
  read.partitions[0].queue->push_back(Owning("web-1", "db7", 4711, 102));
  read.partitions[1].queue->pop_back();
  return read;
}

// Of Calm() with these changes; `after` what has happened last.
Facts At(absl::Duration after, const std::vector<ReadChange>& changes = {}) {
  PartitionsRead read = Calm();
  for (const ReadChange& change : changes) change(read);
  Facts facts = Healthy();
  facts.contenders.clear();
  facts.path->children.clear();
  facts.partitions = ViewPartitions(read);
  facts.now = absl::FromUnixSeconds(7) + after;
  return facts;
}

ReadChange Waits(const std::string& id) {
  return [id](PartitionsRead& read) {
    for (PartitionQueue& p : read.partitions) {
      if (p.name == "2") p.queue->push_back(Owning(id, "db9", 1, 110));
    }
  };
}
ReadChange OtherList(std::size_t member) {
  return [member](PartitionsRead& read) {
    std::string& data = read.members[member].data;
    data =
        absl::StrCat(data.substr(0, data.find('\n') + 1), recipes::machine::MemberData({"x"}, 1));
  };
}
void Twin(PartitionsRead& read) { read.members.push_back(MemberNode("web-1", 9, 209)); }

constexpr absl::Duration kSoon = absl::Seconds(59);
constexpr absl::Duration kLate = absl::Seconds(61);

std::vector<std::string> Found(const Facts& facts) { return Summary(Diagnose(facts)); }

TEST(JudgePartitions, FindsNothingWhileAllAreOwned) {
  EXPECT_THAT(Found(At(kLate)), ElementsAre());
  // By its members' leave: one that stops works on until the next waits.
  EXPECT_THAT(Found(At(kLate, {[](PartitionsRead& r) { r.members.clear(); }})), ElementsAre());
}

TEST(JudgePartitions, FindsWhatNobodyOwnsWhileMembersAreThere) {
  const ReadChange idle = [](PartitionsRead& r) { r.partitions[2].queue->clear(); };
  const ReadChange unseen = [](PartitionsRead& r) { r.partitions.pop_back(); };
  const ReadChange alone = [](PartitionsRead& r) { r.members.clear(); };
  EXPECT_THAT(Found(At(kSoon, {idle})), ElementsAre("partition-unowned /q"));
  EXPECT_THAT(Diagnose(At(kSoon, {idle}))[0].seen,
              HasSubstr("2 is owned by nobody, though members"));
  EXPECT_THAT(Found(At(kSoon, {unseen})), ElementsAre("partition-unowned /q"));
  EXPECT_THAT(Diagnose(At(kSoon, {unseen}))[0].seen, HasSubstr("not those of the members' list"));
  EXPECT_THAT(Found(At(kSoon, {idle, alone})), ElementsAre());
  const ReadChange earlier = [](PartitionsRead& r) {
    r.partitions.push_back({"7", std::vector<ContenderInfo>()});
  };
  EXPECT_THAT(Found(At(kLate, {earlier})), ElementsAre()) << "a node of an earlier list";
  EXPECT_THAT(Found(At(kLate, {earlier, idle})), ElementsAre("partition-unowned /q"));
}

TEST(JudgePartitions, FindsAnOwnerForWhichAnotherMemberWaitsLong) {
  EXPECT_THAT(Found(At(kSoon, {Waits("web-1")})), ElementsAre());
  const Facts late = At(kLate, {Waits("web-1")});
  EXPECT_THAT(Found(late), ElementsAre("partition-kept /q"));
  EXPECT_THAT(Diagnose(late)[0].seen, HasSubstr("web-2@db8:12 owns 2, for which"));
  EXPECT_THAT(Diagnose(late)[0].seen, HasSubstr("may not list /q/homes, and so"));
  // An owner that is no member does not hand over at all.
  const ReadChange taken = [](PartitionsRead& r) { r.partitions[2].queue->front().owner.id = "x"; };
  EXPECT_THAT(Found(At(kLate, {taken, Waits("web-1")})), ElementsAre("partition-kept /q"));
}

// Of whom nobody was asked to hand over.
TEST(JudgePartitions, FindsNothingWhereOnlyAStrangerWaits) {
  EXPECT_THAT(Found(At(kLate, {Waits("")})), ElementsAre());
  EXPECT_THAT(Found(At(kLate, {Waits("an operator")})), ElementsAre());
}

TEST(JudgePartitions, KnowsWhomNobodyHandsOverTo) {
  EXPECT_THAT(Found(At(kLate, {Waits("web-1"), OtherList(0)})),
              ElementsAre("member-lists-differ /q"));
  EXPECT_THAT(Found(At(kLate, {Waits("web-2")})), ElementsAre());
}

TEST(JudgePartitions, FindsAnIdThatTwoProcessesUse) {
  EXPECT_THAT(Found(At(kSoon, {Twin})), ElementsAre()) << "it may have come back";
  EXPECT_THAT(Found(At(kLate, {Twin})), ElementsAre("member-twin /q"));
  const ReadChange in_one = [](PartitionsRead& r) {
    r.members.push_back(MemberNode("web-1", 7, 209));
  };
  EXPECT_THAT(Found(At(kLate, {in_one})), ElementsAre());
}

TEST(JudgePartitions, FindsMembersThatHaveAnotherList) {
  const Facts facts = At(kSoon, {OtherList(1)});
  EXPECT_THAT(Found(facts), ElementsAre("member-lists-differ /q"));
  EXPECT_THAT(Diagnose(facts)[0].seen, HasSubstr(List() + ": web-1"));
}

// The member's node says how its session is, and its locks which process it is.
TEST(JudgePartitions, FindsAMemberThatIsStoppedOrSilent) {
  Facts stopped = At(kSoon);
  stopped.machine = {"db7", {{.pid = 4711, .state = 'T', .name = "ledger"}}};
  EXPECT_THAT(Found(stopped), ElementsAre("holder-stopped /q/members"));
  EXPECT_THAT(Diagnose(stopped)[0].seen, HasSubstr("its place in the group"));
  Facts silent = At(kSoon);
  for (ServerFacts& server : silent.servers) server.connections.emplace();
  (*silent.servers[0].connections)[7] = {"h:1", absl::Seconds(10)};
  EXPECT_THAT(Found(silent), ElementsAre("holder-silent /q/members"));
  EXPECT_THAT(Diagnose(silent)[0].seen, HasSubstr("web-2@db8:12"));
}

// Killed and started again under the same id: for a session timeout the old process has the locks.
TEST(JudgePartitions, NameTheNodeOfTheProcessThatIsGoneAndNotOfItsSuccessor) {
  Facts killed = At(kSoon, {Twin});
  killed.machine = {"db7", {{.pid = 12, .name = "another"}}};
  EXPECT_THAT(Found(killed), ElementsAre("orphan-process /q/members"));
  EXPECT_THAT(Diagnose(killed)[0].seen,
              HasSubstr("that _c_7k2m9qz4x1v8b3n-member-0000000200 (pid 4711) names"));
}

TEST(JudgePartitions, StandInTheReport) {
  const Facts facts = At(kSoon, {OtherList(1)});
  EXPECT_THAT(ReportText(facts, {}),
              HasSubstr("\ndivided   3 partitions; 2 members, 1 away, with 2 different lists\n"));
  EXPECT_THAT(ReportText(facts, {}), Not(HasSubstr("sequence numbers")));
  EXPECT_THAT(ReportJson(facts, {}), HasSubstr(R"("partitions":{"names":[)"));
}

}  // namespace
}  // namespace zkrecipes::zkr::doctor

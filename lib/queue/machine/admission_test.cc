// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/admission.h"

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include <gmock/gmock.h>

#include "lib/queue/machine/contender_test_script.h"

namespace zkrecipes::queue::machine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Node(Dialect dialect, Mode mode, int32_t sequence, char guid = 'a') {
  return absl::StrCat(NodePrefix(dialect, mode, std::string(32, guid)),
                      absl::StrFormat("%010d", sequence));
}

std::string Locker(int32_t n) { return Node(Dialect::kCurator, Mode::kExclusive, n); }
std::string Reader(int32_t n) { return Node(Dialect::kCurator, Mode::kShared, n); }
std::string Writer(int32_t n) { return Node(Dialect::kCurator, Mode::kSharedWriter, n); }
std::string Leader(int32_t n) { return Node(Dialect::kCurator, Mode::kLeader, n); }
std::string KazooLocker(int32_t n) { return Node(Dialect::kKazoo, Mode::kExclusive, n); }
std::string KazooReader(int32_t n) { return Node(Dialect::kKazoo, Mode::kShared, n); }

std::string LockerOf(char guid, int32_t n) {
  return Node(Dialect::kCurator, Mode::kExclusive, n, guid);
}

std::vector<std::string> InFrontOf(const std::string& own, zk::Names children) {
  children.push_back(own);
  const QueueView view = ViewQueue(children, ParseNodeName(own)->mode, own);
  return {view.in_front.begin(), view.in_front.end()};
}

// ---- ViewQueue ---------------------------------------------------------------------------------

TEST(Admission, SaysWhetherTheOwnNodeIsListed) {
  EXPECT_TRUE(ViewQueue({Locker(1), Locker(2)}, Mode::kExclusive, Locker(2)).listed);
  EXPECT_FALSE(ViewQueue({Locker(1)}, Mode::kExclusive, Locker(2)).listed);
  EXPECT_FALSE(ViewQueue({}, Mode::kExclusive, Locker(2)).listed);
}

TEST(Admission, LetsALockWaitForEveryLowerContender) {
  EXPECT_THAT(InFrontOf(Locker(9), {Locker(12), Writer(5), Reader(3), Leader(4), Locker(8)}),
              ElementsAre(Reader(3), Leader(4), Writer(5), Locker(8)));
}

TEST(Admission, LetsAWriterWaitForReadersAndWriters) {
  EXPECT_THAT(InFrontOf(Writer(9), {Reader(3), Writer(4), Reader(10)}),
              ElementsAre(Reader(3), Writer(4)));
}

TEST(Admission, LetsALeaderWaitForEveryLowerContender) {
  EXPECT_THAT(InFrontOf(Leader(9), {Leader(3), Locker(4), Leader(10)}),
              ElementsAre(Leader(3), Locker(4)));
}

TEST(Admission, LetsAReaderPassReaders) {
  EXPECT_THAT(InFrontOf(Reader(9), {Reader(3), KazooReader(4)}), IsEmpty());
}

TEST(Admission, LetsAReaderWaitForLowerWritersOfAnyKindOnly) {
  EXPECT_THAT(InFrontOf(Reader(9),
                        {Writer(3), Reader(4), Locker(5), KazooLocker(6), Leader(7), Writer(11)}),
              ElementsAre(Writer(3), Locker(5), KazooLocker(6), Leader(7)));
}

TEST(Admission, NeverWaitsForALaterContender) {
  EXPECT_THAT(InFrontOf(Locker(1), {Locker(2), Locker(3)}), IsEmpty());
  EXPECT_THAT(InFrontOf(Reader(1), {Writer(2)}), IsEmpty());
}

// By text "_c_b...-lock-3" comes after "_c_a...-lock-7", and "9999999999" after everything.
TEST(Admission, OrdersByNumberAndNotByName) {
  EXPECT_THAT(InFrontOf(LockerOf('b', 7), {LockerOf('f', 5), LockerOf('a', 8), LockerOf('c', 6)}),
              ElementsAre(LockerOf('f', 5), LockerOf('c', 6)));
}

TEST(Admission, OrdersNegativeNumbersBeforePositiveOnes) {
  const int32_t min = std::numeric_limits<int32_t>::min();
  EXPECT_THAT(InFrontOf(Locker(0), {Locker(-1), Locker(min), Locker(-20)}),
              ElementsAre(Locker(min), Locker(-20), Locker(-1)));
}

TEST(Admission, QueuesAllDialectsTogether) {
  EXPECT_THAT(InFrontOf(Locker(9), {KazooReader(3), KazooLocker(8), Locker(4)}),
              ElementsAre(KazooReader(3), Locker(4), KazooLocker(8)));
  EXPECT_THAT(InFrontOf(KazooLocker(9), {Reader(3), Locker(8), Leader(10)}),
              ElementsAre(Reader(3), Locker(8)));
}

TEST(Admission, IgnoresForeignChildren) {
  EXPECT_THAT(
      InFrontOf(Locker(9), {"", "config", "lock-0000000001", "0000000002", "zkrecipes-barrier-x"}),
      IsEmpty());
}

TEST(Admission, AgreesWithItselfInEveryOrderOfTheListing) {
  std::vector<std::string> children = {Locker(4), Reader(2), Writer(7), KazooLocker(3), "config"};
  std::mt19937_64 random(1);
  for (int i = 0; i < 50; ++i) {
    for (size_t n = children.size(); n > 1; --n) std::swap(children[n - 1], children[random() % n]);
    const zk::Names listed(children);
    EXPECT_THAT(ViewQueue(listed, Mode::kSharedWriter, Writer(7)).in_front,
                ElementsAre(Reader(2), KazooLocker(3), Locker(4)));
  }
}

// What makes a lock: of two that conflict exactly one waits for the other.
TEST(Admission, LetsExactlyOneOfTwoConflictingContendersWait) {
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) {
      const auto first = static_cast<Mode>(a);
      const auto second = static_cast<Mode>(b);
      const std::string one = Node(Dialect::kCurator, first, 1);
      const std::string two = Node(Dialect::kCurator, second, 2);
      const bool conflict = first != Mode::kShared || second != Mode::kShared;
      EXPECT_THAT(ViewQueue({one, two}, first, one).in_front, IsEmpty());
      EXPECT_EQ(ViewQueue({one, two}, second, two).in_front.size(), conflict ? 1 : 0) << a << b;
    }
  }
}

// ---- TailMustWait ------------------------------------------------------------------------------

TEST(Admission, LetsANewcomerWaitForAnybodyWhoConflicts) {
  EXPECT_TRUE(TailMustWait({Locker(1)}, Mode::kExclusive));
  EXPECT_TRUE(TailMustWait({Reader(1)}, Mode::kSharedWriter));
  EXPECT_TRUE(TailMustWait({Reader(1), KazooLocker(-5)}, Mode::kShared));
  EXPECT_TRUE(TailMustWait({Leader(1)}, Mode::kLeader));
}

TEST(Admission, LetsANewcomerPassReadersAndForeignChildren) {
  EXPECT_FALSE(TailMustWait({}, Mode::kExclusive));
  EXPECT_FALSE(TailMustWait({Reader(1), KazooReader(2)}, Mode::kShared));
  EXPECT_FALSE(TailMustWait({"config", "lock-0000000001"}, Mode::kExclusive));
}

// ---- NodesOf -----------------------------------------------------------------------------------

TEST(Admission, FindsTheNodesOfAGuidInQueueOrder) {
  const zk::Names children = {LockerOf('a', 9), LockerOf('b', 2), LockerOf('a', 3), "config",
                              std::string(32, 'a')};
  EXPECT_THAT(NodesOf(children, std::string(32, 'a')),
              ElementsAre(LockerOf('a', 3), LockerOf('a', 9)));
  EXPECT_THAT(NodesOf(children, std::string(32, 'c')), IsEmpty());
}

// ---- SequenceExhausted -------------------------------------------------------------------------

TEST(Admission, AcceptsSequenceNumbersFarFromTheEnd) {
  EXPECT_FALSE(SequenceExhausted(0));
  EXPECT_FALSE(SequenceExhausted(1));
  EXPECT_FALSE(SequenceExhausted(2147483647 - (1 << 21)));
}

TEST(Admission, RefusesTheLastMillionAndNegativeSequenceNumbers) {
  EXPECT_TRUE(SequenceExhausted(2147483647));
  EXPECT_TRUE(SequenceExhausted(2147483647 - (1 << 20) + 1));  // 2^31 - 2^20
  EXPECT_TRUE(SequenceExhausted(-1));
  EXPECT_TRUE(SequenceExhausted(std::numeric_limits<int32_t>::min()));
}

// As each library names its nodes.
const std::string kCurators = "_c_2f9c1d3e-5a77-4c0b-9d4e-0b6b7f0e9a11";
const std::string kCuratorsMutex = kCurators + "-lock-0000000001";
const std::string kCuratorsWriter = kCurators + "-__WRIT__0000000002";
const std::string kCuratorsReader = kCurators + "-__READ__0000000003";
const std::string kCuratorsLatch = kCurators + "-latch-0000000004";
const std::string kKazoos = "2f9c1d3e5a774c0b9d4e0b6b7f0e9a11__lock__0000000005";
const std::string kKazooReader = "2f9c1d3e5a774c0b9d4e0b6b7f0e9a11__rlock__0000000006";
const std::string kGos = "_c_2f9c1d3e5a774c0b9d4e0b6b7f0e9a11-lock-0000000007";
const std::string kOurLock = "_c_7k2m9qz4x1v8b3n-lock-0000000008";
const std::string kOurWriter = "_c_7k2m9qz4x1v8b3n-__WRIT__0000000009";
const std::string kOursInKazoos = "7k2m9qz4x1v8b3n__lock__0000000010";

const zk::Names kAllNames = {
    kCuratorsMutex, kCuratorsWriter, kCuratorsReader, kCuratorsLatch, kKazoos, kKazooReader,
    kGos,           kOurLock,        kOurWriter,      kOursInKazoos,  "locks", "config"};

std::vector<std::string> BlindTo(Mode named) {
  return BlindAmong(kAllNames, Dialect::kCurator, named);
}

TEST(Blind, IsEachRecipeOfCuratorsToNamesThatItDoesNotLookFor) {
  EXPECT_THAT(BlindTo(Mode::kExclusive),
              ElementsAre(kCuratorsWriter, kCuratorsReader, kCuratorsLatch, kKazoos, kKazooReader));
  EXPECT_THAT(BlindTo(Mode::kSharedWriter),
              ElementsAre(kCuratorsMutex, kCuratorsLatch, kKazoos, kKazooReader));
  EXPECT_THAT(BlindTo(Mode::kLeader),
              ElementsAre(kCuratorsMutex, kCuratorsWriter, kCuratorsReader, kKazoos, kKazooReader));
}

// No other library looks for a permit's name; a holder of kazoo's Semaphore counts it, but has
// none.
constexpr char kKazoosPermit[] = "2f9c1d3e5a774c0b9d4e0b6b7f0e9a11";

TEST(Blind, IsEveryLibraryToAPermitAndKazoosSemaphoreToNothingElse) {
  EXPECT_THAT(BlindTo(Mode::kPermit), ElementsAre(kCuratorsMutex, kCuratorsWriter, kCuratorsReader,
                                                  kCuratorsLatch, kKazoos, kKazooReader));
  const zk::Names children = {kKazoosPermit, "2F9C1D3E5A774C0B9D4E0B6B7F0E9A11",
                              std::string(kKazoosPermit) + "0", MineOf(Mode::kPermit, 1)};
  EXPECT_THAT(BlindAmong(children, Dialect::kCurator, Mode::kPermit), ElementsAre(kKazoosPermit));
  for (const Mode mode : {Mode::kExclusive, Mode::kShared, Mode::kSharedWriter, Mode::kLeader}) {
    EXPECT_THAT(BlindAmong(children, Dialect::kKazoo, mode), IsEmpty());
  }
}

TEST(Blind, IsNamedToAPermitWithTheOnlyRemedy) {
  EXPECT_THAT(BlindAmong({kRecordName}, Dialect::kCurator, Mode::kPermit),
              ElementsAre(kRecordName));
  EXPECT_THAT(BlindAmong({kRecordName}, Dialect::kCurator, Mode::kExclusive), IsEmpty());
  EXPECT_STREQ(MakerOf(kRecordName, Mode::kPermit).recipe, "a Lock with a lock delay");
  for (const std::string& child : {kCuratorsMutex, kCuratorsLatch, kKazoos}) {
    EXPECT_STREQ(MakerOf(child, Mode::kPermit).remedy, "use another path");
    EXPECT_STRNE(MakerOf(child, Mode::kExclusive).remedy, "use another path");
  }
  EXPECT_STREQ(MakerOf(kKazoosPermit, Mode::kPermit).recipe, "kazoo's Semaphore");
}

TEST(Blind, AreReadersToReadersAndNothingComesOfIt) {
  EXPECT_THAT(BlindTo(Mode::kShared), ElementsAre(kCuratorsMutex, kCuratorsLatch, kKazoos));
  EXPECT_THAT(BlindAmong({kCuratorsReader, kKazooReader}, Dialect::kKazoo, Mode::kShared),
              IsEmpty());
}

TEST(Blind, IsAllOfCuratorsToKazoosNames) {
  EXPECT_THAT(BlindAmong(kAllNames, Dialect::kKazoo, Mode::kExclusive),
              ElementsAre(kCuratorsMutex, kCuratorsWriter, kCuratorsReader, kCuratorsLatch));
}

// A semaphore's lease; and what a queue of ours at `leases` has.
constexpr char kLease[] = "_c_ea5d85ee-b8f3-4b5a-a3c9-1b6e2b0c2b7d-lease-0000000004";

TEST(Semaphore, IsToldByItsLeasesOrByItsQueueWhileNobodyHoldsIt) {
  EXPECT_EQ(LeasesIn({kLease}), Leases::kHeld);
  EXPECT_EQ(LeasesIn({"zkrecipes-holder", kLease}), Leases::kHeld);
  EXPECT_EQ(LeasesIn({}), Leases::kEmpty);
  EXPECT_EQ(LeasesIn({Mine(3), "zkrecipes-holder"}), Leases::kOthers);
  EXPECT_TRUE(IsSemaphore({"leases"}, Leases::kHeld));
  EXPECT_TRUE(IsSemaphore({"locks", "leases"}, Leases::kEmpty));
  EXPECT_FALSE(IsSemaphore({"leases"}, Leases::kEmpty));
  EXPECT_FALSE(IsSemaphore({"locks", "leases"}, Leases::kOthers));
}

TEST(Semaphore, EndsEveryContenderThatFindsItHeld) {
  for (const Mode mode : {Mode::kExclusive, Mode::kShared, Mode::kSharedWriter, Mode::kLeader}) {
    Script script(Of(mode));
    script.Connected().Created(3).Listed({"leases", MineOf(mode, 3)});
    script.Expect("create a, list, own timer, list leases, list");
    script.Listed({kLease}).Listed({"leases", MineOf(mode, 3)}).Expect("delete a3");
    script.Ok().Expect("finished: blind");
  }
}

TEST(Semaphore, IsNotWhatAQueueOfOursAtItsPathLooksLike) {
  Script script;
  script.Joins(3, {"leases", Mine(3)}).Expect("create a, list, own timer, list leases, list");
  script.Listed({Mine(7)}).Listed({"leases", Mine(3)}).Expect("granted a3 token 1003 in 7");
}

TEST(Semaphore, IsWhatMayNotBeListed) {
  Script script;
  script.Joins(3, {"leases", Mine(3)}).Expect("create a, list, own timer, list leases, list");
  script.Fails(zk::Code::kNoAuth).Listed({"leases", Mine(3)}).Expect("delete a3");
}

TEST(Semaphore, IsLookedForAgainWhenTheAnswerIsLost) {
  Script script;
  script.Joins(3, {"leases", Mine(3)}).Expect("create a, list, own timer, list leases, list");
  script.Listed({}).Reconnects().Expect("list").Listed({"leases", Mine(3)});
  script.Expect("list leases, list").Fails(zk::Code::kNoNode).Listed({Mine(3)});
  script.Expect("granted a3 token 1003 in 7");
}

TEST(Semaphore, IsLeftByAContenderThatIsAskedToLeaveWhileItLooks) {
  Script script;
  script.Joins(3, {"leases", Mine(3)}).Expect("create a, list, own timer, list leases, list");
  script.Leave().Expect("delete a3");
  script.Listed({}).Listed({"leases", Mine(3)}).ExpectNothing();
  script.Ok().Expect("finished: left");
  Script a_try((Try()));
  a_try.Connected().Listed({"leases"}).Leave().Expect("list, list leases, list, finished: left");
}

TEST(Blind, EndsAContenderThatWouldElseBeGranted) {
  Script()
      .Joins(3, {kCuratorsWriter, Mine(3)})
      .Expect("create a, list, own timer, delete a3")
      .Ok()
      .Expect("finished: blind");
}

TEST(Blind, EndsAWaiterThatListsAgain) {
  Script script;
  script.Joins(3, {Other(1), Mine(3)}).Expect("create a, list, own timer, watch other1");
  script.Ok()
      .Deleted(Other(1))
      .Expect("list")
      .Listed({Mine(3), kCuratorsLatch})
      .Expect("delete a3");
  script.Ok().Expect("finished: blind");
}

TEST(Blind, EndsATryBeforeItHasANode) {
  Script script((Try()));
  script.Connected().Expect("list").Listed({"leases"}).Expect("list leases, list");
  script.Listed({kLease}).Listed({"leases"}).Expect("finished: blind");
  Script other((Try()));
  other.Connected().Expect("list").Listed({"leases"}).Expect("list leases, list");
  other.Reconnects().Expect("list").Listed({"leases"}).Expect("list leases, list");
  other.Listed({Mine(7)}).Listed({"leases", Other(1)}).Expect("finished: busy");
}

TEST(Blind, MayBeAllowed) {
  Candidacy lock = Lock();
  lock.beside_blind = true;
  Script(lock)
      .Joins(3, {kKazoos, "leases", Mine(3)})
      .Expect("create a, list, own timer, granted a3 token 1003 in 7");
}

TEST(Blind, IsNoneToALockThatIsNamedAsTheyAre) {
  Candidacy lock = Lock();
  lock.named_as = Mode::kSharedWriter;
  Script script(lock);
  script.Connected().Created(3).Listed({kCuratorsWriter, MineOf(Mode::kSharedWriter, 3)});
  script.ExpectState(Contender::State::kWatching);
  script.Expect("create a, list, own timer, watch 22");
}

}  // namespace
}  // namespace zkrecipes::queue::machine

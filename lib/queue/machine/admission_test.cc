// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/admission.h"

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace zkrecipes::queue::machine

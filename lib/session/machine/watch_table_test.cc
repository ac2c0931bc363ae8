// SPDX-License-Identifier: Apache-2.0

#include "lib/session/machine/watch_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zkrecipes::session::machine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kPath[] = "/q/1";
const zk::Watch kWatch{kPath};
const zk::Watch kExists{kPath, zk::WatchKind::kExists};
const zk::Watch kOther{"/q/2"};
constexpr zk::WatchEvent kDeleted = zk::WatchEvent::kDeleted;
constexpr bool kArmed = true;
constexpr bool kRemoveFromServer = true;

class WatchTableTest : public ::testing::Test {
 protected:
  void AddArmed(WatcherId id, const zk::Watch& watch = kWatch) {
    table_.Add(watch, id);
    EXPECT_FALSE(table_.OnReply(watch, id, kArmed));
  }

  WatchTable table_;
};

TEST_F(WatchTableTest, TellsAnArmedWatcherOnce) {
  AddArmed(1);
  EXPECT_THAT(table_.Fire(kPath, kDeleted), ElementsAre(1));
  EXPECT_THAT(table_.Fire(kPath, kDeleted), IsEmpty());
  EXPECT_TRUE(table_.empty());
}

TEST_F(WatchTableTest, TellsAllWhoShareAPath) {
  AddArmed(1);
  AddArmed(2);
  EXPECT_THAT(table_.Fire(kPath, kDeleted), ElementsAre(1, 2));
  EXPECT_TRUE(table_.empty());
}

TEST_F(WatchTableTest, KeepsPathsApart) {
  AddArmed(1);
  EXPECT_THAT(table_.Fire("/q/2", kDeleted), IsEmpty());
  EXPECT_THAT(table_.Fire(kPath, kDeleted), ElementsAre(1));
}

// Or a new value would cost the one who waits for the node's end its wake-up.
TEST_F(WatchTableTest, TellsTheKindsOfWatchesOnAPathApart) {
  AddArmed(1);
  AddArmed(2, kExists);
  EXPECT_THAT(table_.Fire(kPath, zk::WatchEvent::kNodeData), ElementsAre(2));
  AddArmed(3, kExists);
  EXPECT_THAT(table_.Fire(kPath, zk::WatchEvent::kChanged), ElementsAre(1));
  EXPECT_EQ(table_.Remove(kExists, 3), kRemoveFromServer);
}

TEST_F(WatchTableTest, TellsBothKindsOfADeletion) {
  AddArmed(1);
  AddArmed(2, kExists);
  EXPECT_THAT(table_.Fire(kPath, kDeleted), ElementsAre(1, 2));
  EXPECT_TRUE(table_.empty());
}

TEST_F(WatchTableTest, RemovesTheServersWatchWithItsLastWatcher) {
  AddArmed(1);
  EXPECT_EQ(table_.Remove(kWatch, 1), kRemoveFromServer);
  EXPECT_TRUE(table_.empty());
}

// ZOOKEEPER-1910: two waiters of one session on one predecessor, one gives up.
TEST_F(WatchTableTest, KeepsTheServersWatchWhileOneWatcherIsLeft) {
  AddArmed(1);
  AddArmed(2);
  EXPECT_FALSE(table_.Remove(kWatch, 1));
  EXPECT_THAT(table_.Fire(kPath, kDeleted), ElementsAre(2));
}

TEST_F(WatchTableTest, LeavesTheServerAloneWhenNoWatchWasArmed) {
  table_.Add(kWatch, 1);
  EXPECT_FALSE(table_.OnReply(kWatch, 1, !kArmed));
  EXPECT_TRUE(table_.empty());
  EXPECT_FALSE(table_.Remove(kWatch, 1));
}

TEST_F(WatchTableTest, LeavesTheServerAloneAfterTheWatchFired) {
  AddArmed(1);
  (void)table_.Fire(kPath, kDeleted);
  EXPECT_FALSE(table_.Remove(kWatch, 1));
}

TEST_F(WatchTableTest, WaitsForTheReplyBeforeItRemoves) {
  table_.Add(kWatch, 1);
  EXPECT_FALSE(table_.Remove(kWatch, 1));
  EXPECT_FALSE(table_.empty());
  EXPECT_EQ(table_.OnReply(kWatch, 1, kArmed), kRemoveFromServer);
  EXPECT_TRUE(table_.empty());
}

TEST_F(WatchTableTest, WaitsForEveryReplyBeforeItRemoves) {
  AddArmed(1);
  table_.Add(kWatch, 2);
  EXPECT_FALSE(table_.Remove(kWatch, 2));
  EXPECT_FALSE(table_.Remove(kWatch, 1));
  EXPECT_EQ(table_.OnReply(kWatch, 2, !kArmed), kRemoveFromServer);
  EXPECT_TRUE(table_.empty());
}

TEST_F(WatchTableTest, KeepsTheServersWatchForANewcomerWhoseReplyIsOutstanding) {
  AddArmed(1);
  table_.Add(kWatch, 2);
  EXPECT_FALSE(table_.Remove(kWatch, 1));
  EXPECT_FALSE(table_.OnReply(kWatch, 2, kArmed));
  EXPECT_THAT(table_.Fire(kPath, kDeleted), ElementsAre(2));
}

TEST_F(WatchTableTest, DoesNotTellAWatcherThatHasLeft) {
  table_.Add(kWatch, 1);
  AddArmed(2);
  EXPECT_FALSE(table_.Remove(kWatch, 1));
  EXPECT_FALSE(table_.OnReply(kWatch, 1, kArmed));
  EXPECT_THAT(table_.Fire(kPath, kDeleted), ElementsAre(2));
}

// Its own reply, still to come, says whether the node was there.
TEST_F(WatchTableTest, DoesNotTellAWatcherBeforeItsReply) {
  AddArmed(1);
  table_.Add(kWatch, 2);
  EXPECT_THAT(table_.Fire(kPath, kDeleted), ElementsAre(1));
  EXPECT_FALSE(table_.OnReply(kWatch, 2, !kArmed));
  EXPECT_TRUE(table_.empty());
}

TEST_F(WatchTableTest, ArmsAgainForAWatcherWhoseReplyFollowsAFiredWatch) {
  AddArmed(1);
  table_.Add(kWatch, 2);
  (void)table_.Fire(kPath, kDeleted);
  EXPECT_FALSE(table_.OnReply(kWatch, 2, kArmed));
  EXPECT_EQ(table_.Remove(kWatch, 2), kRemoveFromServer);
}

TEST_F(WatchTableTest, IgnoresWatchersItDoesNotKnow) {
  AddArmed(1);
  EXPECT_FALSE(table_.Remove(kWatch, 7));
  EXPECT_FALSE(table_.Remove(kOther, 1));
  EXPECT_FALSE(table_.OnReply(kWatch, 7, !kArmed));
  EXPECT_FALSE(table_.OnReply(kOther, 1, kArmed));
  EXPECT_THAT(table_.Fire(kPath, kDeleted), ElementsAre(1));
}

TEST_F(WatchTableTest, IsEmptyAfterTheSessionEnded) {
  AddArmed(1);
  table_.Add(kOther, 2);
  table_.Clear();
  EXPECT_TRUE(table_.empty());
  EXPECT_FALSE(table_.Remove(kWatch, 1));
}

// Or the new session's watch would never be taken off.
TEST_F(WatchTableTest, IgnoresALateReplyOfTheSessionBefore) {
  table_.Add(kWatch, 1);
  table_.Clear();
  table_.Add(kWatch, 2);
  EXPECT_FALSE(table_.OnReply(kWatch, 1, !kArmed));
  EXPECT_FALSE(table_.OnReply(kWatch, 2, kArmed));
  EXPECT_EQ(table_.Remove(kWatch, 2), kRemoveFromServer);
}

}  // namespace
}  // namespace zkrecipes::session::machine

// SPDX-License-Identifier: Apache-2.0

#include "lib/session/machine/watch_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zkrecipes::session {
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

void AddArmed(WatchTable& table, WatcherId id) {
  table.Add(kWatch, id);
  EXPECT_FALSE(table.OnReply(kWatch, id, kArmed));
}

TEST(WatchTable, TellsAnArmedWatcherOnce) {
  WatchTable table;
  AddArmed(table, 1);
  EXPECT_THAT(table.Fire(kPath, kDeleted), ElementsAre(1));
  EXPECT_THAT(table.Fire(kPath, kDeleted), IsEmpty());
  EXPECT_TRUE(table.empty());
}

TEST(WatchTable, TellsAllWhoShareAPath) {
  WatchTable table;
  AddArmed(table, 1);
  AddArmed(table, 2);
  EXPECT_THAT(table.Fire(kPath, kDeleted), ElementsAre(1, 2));
  EXPECT_TRUE(table.empty());
}

TEST(WatchTable, KeepsPathsApart) {
  WatchTable table;
  AddArmed(table, 1);
  EXPECT_THAT(table.Fire("/q/2", kDeleted), IsEmpty());
  EXPECT_THAT(table.Fire(kPath, kDeleted), ElementsAre(1));
}

// Or a new value would cost the one who waits for the node's end its wake-up.
TEST(WatchTable, TellsTheKindsOfWatchesOnAPathApart) {
  WatchTable table;
  AddArmed(table, 1);
  table.Add(kExists, 2);
  EXPECT_FALSE(table.OnReply(kExists, 2, kArmed));
  EXPECT_THAT(table.Fire(kPath, zk::WatchEvent::kNodeData), ElementsAre(2));
  table.Add(kExists, 3);
  EXPECT_FALSE(table.OnReply(kExists, 3, kArmed));
  EXPECT_THAT(table.Fire(kPath, zk::WatchEvent::kChanged), ElementsAre(1));
  EXPECT_EQ(table.Remove(kExists, 3), kRemoveFromServer);
}

TEST(WatchTable, TellsBothKindsOfADeletion) {
  WatchTable table;
  AddArmed(table, 1);
  table.Add(kExists, 2);
  EXPECT_FALSE(table.OnReply(kExists, 2, kArmed));
  EXPECT_THAT(table.Fire(kPath, kDeleted), ElementsAre(1, 2));
  EXPECT_TRUE(table.empty());
}

TEST(WatchTable, RemovesTheServersWatchWithItsLastWatcher) {
  WatchTable table;
  AddArmed(table, 1);
  EXPECT_EQ(table.Remove(kWatch, 1), kRemoveFromServer);
  EXPECT_TRUE(table.empty());
}

// ZOOKEEPER-1910: two waiters of one session on one predecessor, one gives up.
TEST(WatchTable, KeepsTheServersWatchWhileOneWatcherIsLeft) {
  WatchTable table;
  AddArmed(table, 1);
  AddArmed(table, 2);
  EXPECT_FALSE(table.Remove(kWatch, 1));
  EXPECT_THAT(table.Fire(kPath, kDeleted), ElementsAre(2));
}

TEST(WatchTable, LeavesTheServerAloneWhenNoWatchWasArmed) {
  WatchTable table;
  table.Add(kWatch, 1);
  EXPECT_FALSE(table.OnReply(kWatch, 1, !kArmed));
  EXPECT_TRUE(table.empty());
  EXPECT_FALSE(table.Remove(kWatch, 1));
}

TEST(WatchTable, LeavesTheServerAloneAfterTheWatchFired) {
  WatchTable table;
  AddArmed(table, 1);
  (void)table.Fire(kPath, kDeleted);
  EXPECT_FALSE(table.Remove(kWatch, 1));
}

TEST(WatchTable, WaitsForTheReplyBeforeItRemoves) {
  WatchTable table;
  table.Add(kWatch, 1);
  EXPECT_FALSE(table.Remove(kWatch, 1));
  EXPECT_FALSE(table.empty());
  EXPECT_EQ(table.OnReply(kWatch, 1, kArmed), kRemoveFromServer);
  EXPECT_TRUE(table.empty());
}

TEST(WatchTable, WaitsForEveryReplyBeforeItRemoves) {
  WatchTable table;
  AddArmed(table, 1);
  table.Add(kWatch, 2);
  EXPECT_FALSE(table.Remove(kWatch, 2));
  EXPECT_FALSE(table.Remove(kWatch, 1));
  EXPECT_EQ(table.OnReply(kWatch, 2, !kArmed), kRemoveFromServer);
  EXPECT_TRUE(table.empty());
}

TEST(WatchTable, KeepsTheServersWatchForANewcomerWhoseReplyIsOutstanding) {
  WatchTable table;
  AddArmed(table, 1);
  table.Add(kWatch, 2);
  EXPECT_FALSE(table.Remove(kWatch, 1));
  EXPECT_FALSE(table.OnReply(kWatch, 2, kArmed));
  EXPECT_THAT(table.Fire(kPath, kDeleted), ElementsAre(2));
}

TEST(WatchTable, DoesNotTellAWatcherThatHasLeft) {
  WatchTable table;
  table.Add(kWatch, 1);
  AddArmed(table, 2);
  EXPECT_FALSE(table.Remove(kWatch, 1));
  EXPECT_FALSE(table.OnReply(kWatch, 1, kArmed));
  EXPECT_THAT(table.Fire(kPath, kDeleted), ElementsAre(2));
}

// Its own reply, still to come, says whether the node was there.
TEST(WatchTable, DoesNotTellAWatcherBeforeItsReply) {
  WatchTable table;
  AddArmed(table, 1);
  table.Add(kWatch, 2);
  EXPECT_THAT(table.Fire(kPath, kDeleted), ElementsAre(1));
  EXPECT_FALSE(table.OnReply(kWatch, 2, !kArmed));
  EXPECT_TRUE(table.empty());
}

TEST(WatchTable, ArmsAgainForAWatcherWhoseReplyFollowsAFiredWatch) {
  WatchTable table;
  AddArmed(table, 1);
  table.Add(kWatch, 2);
  (void)table.Fire(kPath, kDeleted);
  EXPECT_FALSE(table.OnReply(kWatch, 2, kArmed));
  EXPECT_EQ(table.Remove(kWatch, 2), kRemoveFromServer);
}

TEST(WatchTable, IgnoresWatchersItDoesNotKnow) {
  WatchTable table;
  AddArmed(table, 1);
  EXPECT_FALSE(table.Remove(kWatch, 7));
  EXPECT_FALSE(table.Remove(kOther, 1));
  EXPECT_FALSE(table.OnReply(kWatch, 7, !kArmed));
  EXPECT_FALSE(table.OnReply(kOther, 1, kArmed));
  EXPECT_THAT(table.Fire(kPath, kDeleted), ElementsAre(1));
}

TEST(WatchTable, IsEmptyAfterTheSessionEnded) {
  WatchTable table;
  AddArmed(table, 1);
  table.Add(kOther, 2);
  table.Clear();
  EXPECT_TRUE(table.empty());
  EXPECT_FALSE(table.Remove(kWatch, 1));
}

// Or the new session's watch would never be taken off.
TEST(WatchTable, IgnoresALateReplyOfTheSessionBefore) {
  WatchTable table;
  table.Add(kWatch, 1);
  table.Clear();
  table.Add(kWatch, 2);
  EXPECT_FALSE(table.OnReply(kWatch, 1, !kArmed));
  EXPECT_FALSE(table.OnReply(kWatch, 2, kArmed));
  EXPECT_EQ(table.Remove(kWatch, 2), kRemoveFromServer);
}

}  // namespace
}  // namespace zkrecipes::session

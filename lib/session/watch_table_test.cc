// SPDX-License-Identifier: Apache-2.0

#include "lib/session/watch_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zkrecipes::session {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kPath[] = "/q/1";
constexpr bool kArmed = true;
constexpr bool kRemoveFromServer = true;

void AddArmed(WatchTable& table, WatcherId id) {
  table.Add(kPath, id);
  EXPECT_FALSE(table.OnReply(kPath, id, kArmed));
}

TEST(WatchTable, TellsAnArmedWatcherOnce) {
  WatchTable table;
  AddArmed(table, 1);
  EXPECT_THAT(table.Fire(kPath), ElementsAre(1));
  EXPECT_THAT(table.Fire(kPath), IsEmpty());
  EXPECT_TRUE(table.empty());
}

TEST(WatchTable, TellsAllWhoShareAPath) {
  WatchTable table;
  AddArmed(table, 1);
  AddArmed(table, 2);
  EXPECT_THAT(table.Fire(kPath), ElementsAre(1, 2));
  EXPECT_TRUE(table.empty());
}

TEST(WatchTable, KeepsPathsApart) {
  WatchTable table;
  AddArmed(table, 1);
  EXPECT_THAT(table.Fire("/q/2"), IsEmpty());
  EXPECT_THAT(table.Fire(kPath), ElementsAre(1));
}

TEST(WatchTable, RemovesTheServersWatchWithItsLastWatcher) {
  WatchTable table;
  AddArmed(table, 1);
  EXPECT_EQ(table.Remove(kPath, 1), kRemoveFromServer);
  EXPECT_TRUE(table.empty());
}

// ZOOKEEPER-1910: two waiters of one session on one predecessor, one gives up.
TEST(WatchTable, KeepsTheServersWatchWhileOneWatcherIsLeft) {
  WatchTable table;
  AddArmed(table, 1);
  AddArmed(table, 2);
  EXPECT_FALSE(table.Remove(kPath, 1));
  EXPECT_THAT(table.Fire(kPath), ElementsAre(2));
}

TEST(WatchTable, LeavesTheServerAloneWhenNoWatchWasArmed) {
  WatchTable table;
  table.Add(kPath, 1);
  EXPECT_FALSE(table.OnReply(kPath, 1, !kArmed));
  EXPECT_TRUE(table.empty());
  EXPECT_FALSE(table.Remove(kPath, 1));
}

TEST(WatchTable, LeavesTheServerAloneAfterTheWatchFired) {
  WatchTable table;
  AddArmed(table, 1);
  (void)table.Fire(kPath);
  EXPECT_FALSE(table.Remove(kPath, 1));
}

TEST(WatchTable, WaitsForTheReplyBeforeItRemoves) {
  WatchTable table;
  table.Add(kPath, 1);
  EXPECT_FALSE(table.Remove(kPath, 1));
  EXPECT_FALSE(table.empty());
  EXPECT_EQ(table.OnReply(kPath, 1, kArmed), kRemoveFromServer);
  EXPECT_TRUE(table.empty());
}

TEST(WatchTable, WaitsForEveryReplyBeforeItRemoves) {
  WatchTable table;
  AddArmed(table, 1);
  table.Add(kPath, 2);
  EXPECT_FALSE(table.Remove(kPath, 2));
  EXPECT_FALSE(table.Remove(kPath, 1));
  EXPECT_EQ(table.OnReply(kPath, 2, !kArmed), kRemoveFromServer);
  EXPECT_TRUE(table.empty());
}

TEST(WatchTable, KeepsTheServersWatchForANewcomerWhoseReplyIsOutstanding) {
  WatchTable table;
  AddArmed(table, 1);
  table.Add(kPath, 2);
  EXPECT_FALSE(table.Remove(kPath, 1));
  EXPECT_FALSE(table.OnReply(kPath, 2, kArmed));
  EXPECT_THAT(table.Fire(kPath), ElementsAre(2));
}

TEST(WatchTable, DoesNotTellAWatcherThatHasLeft) {
  WatchTable table;
  table.Add(kPath, 1);
  AddArmed(table, 2);
  EXPECT_FALSE(table.Remove(kPath, 1));
  EXPECT_FALSE(table.OnReply(kPath, 1, kArmed));
  EXPECT_THAT(table.Fire(kPath), ElementsAre(2));
}

// Its own reply, still to come, says whether the node was there.
TEST(WatchTable, DoesNotTellAWatcherBeforeItsReply) {
  WatchTable table;
  AddArmed(table, 1);
  table.Add(kPath, 2);
  EXPECT_THAT(table.Fire(kPath), ElementsAre(1));
  EXPECT_FALSE(table.OnReply(kPath, 2, !kArmed));
  EXPECT_TRUE(table.empty());
}

TEST(WatchTable, ArmsAgainForAWatcherWhoseReplyFollowsAFiredWatch) {
  WatchTable table;
  AddArmed(table, 1);
  table.Add(kPath, 2);
  (void)table.Fire(kPath);
  EXPECT_FALSE(table.OnReply(kPath, 2, kArmed));
  EXPECT_EQ(table.Remove(kPath, 2), kRemoveFromServer);
}

TEST(WatchTable, IgnoresWatchersItDoesNotKnow) {
  WatchTable table;
  AddArmed(table, 1);
  EXPECT_FALSE(table.Remove(kPath, 7));
  EXPECT_FALSE(table.Remove("/q/2", 1));
  EXPECT_FALSE(table.OnReply(kPath, 7, !kArmed));
  EXPECT_FALSE(table.OnReply("/q/2", 1, kArmed));
  EXPECT_THAT(table.Fire(kPath), ElementsAre(1));
}

TEST(WatchTable, IsEmptyAfterTheSessionEnded) {
  WatchTable table;
  AddArmed(table, 1);
  table.Add("/q/2", 2);
  table.Clear();
  EXPECT_TRUE(table.empty());
  EXPECT_FALSE(table.Remove(kPath, 1));
}

// Or the new session's watch would never be taken off.
TEST(WatchTable, IgnoresALateReplyOfTheSessionBefore) {
  WatchTable table;
  table.Add(kPath, 1);
  table.Clear();
  table.Add(kPath, 2);
  EXPECT_FALSE(table.OnReply(kPath, 1, !kArmed));
  EXPECT_FALSE(table.OnReply(kPath, 2, kArmed));
  EXPECT_EQ(table.Remove(kPath, 2), kRemoveFromServer);
}

}  // namespace
}  // namespace zkrecipes::session

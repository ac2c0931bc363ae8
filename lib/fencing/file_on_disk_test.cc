// SPDX-License-Identifier: Apache-2.0
//
// A fenced file on a disk whose crash comes at any call, and at any byte; and two writers in every
// order of their calls.

#include "lib/fencing/file_on_disk.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "lib/fencing/disk_fixture.h"
#include "lib/fencing/two_turns_fixture.h"

namespace zkrecipes::fencing {
namespace {

using internal::FileOnDisk;

constexpr char kFile[] = "file";

FencingPass Pass(int64_t token) { return {.token = FencingToken(token)}; }

FileOnDisk OnFake(Platter& platter) { return {Fake(platter), kFile}; }

Platter WithAFile() {
  Platter platter;
  EXPECT_EQ(OnFake(platter).Create(), absl::OkStatus());
  return platter;
}

absl::Status Write(FileOnDisk file, int64_t token, const std::string& data) {
  return file.Replace(Pass(token), &data).status();
}

// Three holders write. Returns the token of the last write that was confirmed; -1: not even the
// creation.
int64_t LiveAFile(Platter& platter) {
  if (!OnFake(platter).Create().ok()) return -1;
  int64_t confirmed = 0;
  for (int64_t token = 1; token <= 3; ++token) {
    const std::string data(static_cast<size_t>(10 * token), static_cast<char>('0' + token));
    if (Write(OnFake(platter), token, data).ok()) confirmed = token;
  }
  return confirmed;
}

// Whole, with the floor and the data of one write, and it goes on from there.
void ExpectWhole(int64_t confirmed, Platter& after) {
  auto body = OnFake(after).Read();
  if (absl::IsNotFound(body.status()) && confirmed < 0) return;
  ASSERT_TRUE(body.ok()) << body.status();
  const int64_t token = body->floor.exclusive.value();
  EXPECT_GE(token, confirmed);
  EXPECT_LE(token, confirmed + 1) << "only what was being written may be there";
  EXPECT_EQ(body->data,
            std::string(static_cast<size_t>(10 * token), static_cast<char>('0' + token)));
  EXPECT_EQ(Write(OnFake(after), 9, "more"), absl::OkStatus());
  EXPECT_EQ(OnFake(after).Read()->data, "more");
  EXPECT_TRUE(absl::IsFailedPrecondition(Write(OnFake(after), 8, "stale")));
}

TEST(FileOnDisk, IsWholeWhereverACrashComes) {
  int crashes = 0;
  bool crashed = true;
  for (int at = 0; crashed; ++at) {
    for (size_t torn = 0; torn < 130; ++torn) {
      Platter platter;
      platter.crash_at = at;
      platter.torn = torn;
      const int64_t confirmed = LiveAFile(platter);
      crashed = platter.calls > at;
      for (const bool names_kept : {true, false}) {
        for (const Unsynced bytes : {Unsynced::kKept, Unsynced::kZero, Unsynced::kGone}) {
          SCOPED_TRACE(absl::StrCat("call ", at, ", byte ", torn, names_kept, bytes));
          Platter after = After(platter, names_kept, bytes);
          ExpectWhole(confirmed, after);
          ++crashes;
        }
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(crashes, 22500);
}

// Each call that others can see is a step.
OpenFolder Stepped(Platter& platter, TwoTurns& turns, int actor) {
  return Fake(platter, {.step = [&turns, actor] { turns.Step(actor); },
                        .freed = [&turns, actor] { turns.Freed(actor); },
                        .pause = [&turns, actor] { turns.Block(actor); }});
}

TEST(FileOnDisk, AnOlderWriterNeverOverwritesANewerOneInAnyOrderOfTheirCalls) {
  TwoTurns turns;
  int orders = 0, refused = 0;
  do {
    Platter platter = WithAFile();
    FileOnDisk older(Stepped(platter, turns, 0), kFile);
    FileOnDisk newer(Stepped(platter, turns, 1), kFile);
    const std::string old_data = "old", new_data = "the newer one's";
    absl::StatusOr<FencedBody> old_answer, new_answer;
    ASSERT_TRUE(turns.Run({[&] { old_answer = older.Replace(Pass(1), &old_data); },
                           [&] { new_answer = newer.Replace(Pass(2), &new_data); }}));
    ASSERT_TRUE(new_answer.ok()) << new_answer.status();
    ASSERT_TRUE(old_answer.ok() || absl::IsFailedPrecondition(old_answer.status()))
        << old_answer.status();
    const auto body = OnFake(platter).Read();
    ASSERT_TRUE(body.ok()) << body.status();
    ASSERT_EQ(body->data, new_data) << "in order " << orders;
    ASSERT_EQ(body->floor.exclusive, FencingToken(2));
    refused += !old_answer.ok();
    ++orders;
  } while (turns.NextOrder());
  EXPECT_GT(orders, 300);
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, orders);
  RecordProperty("orders", orders);
}

// The holder's process is killed when its file has the name, and before the folder is synced. The
// same holder claims once more from another process, and then the machine crashes.
TEST(FileOnDisk, AClaimIsOnTheDiskThoughItsFloorWasWrittenByAnotherThatDidNotSyncIt) {
  struct Killed {};
  Platter platter = WithAFile();
  int freed = 0;
  const OpenFolder until_renamed = Fake(platter, {.step =
                                                      [&freed] {
                                                        if (freed == 2) throw Killed();
                                                      },
                                                  .freed = [&freed] { ++freed; }});
  EXPECT_THROW((void)Write(FileOnDisk(until_renamed, kFile), 1, "data"), Killed);
  EXPECT_EQ(OnFake(platter).Replace(Pass(1), nullptr)->data, "data");
  Platter after = After(platter, /*names_kept=*/false, Unsynced::kGone);
  EXPECT_EQ(OnFake(after).Read()->floor.exclusive, FencingToken(1));
}

TEST(FileOnDisk, OfTwoThatCreateItOneDoes) {
  TwoTurns turns;
  do {
    Platter platter;
    FileOnDisk first(Stepped(platter, turns, 0), kFile);
    FileOnDisk second(Stepped(platter, turns, 1), kFile);
    absl::Status one, other;
    ASSERT_TRUE(turns.Run({[&] { one = first.Create(); }, [&] { other = second.Create(); }}));
    ASSERT_NE(one.ok(), other.ok());
    ASSERT_TRUE(absl::IsAlreadyExists(one.ok() ? other : one)) << one << other;
  } while (turns.NextOrder());
}

TEST(FileOnDisk, AWriterThatStopsInTheMiddleMakesTheOthersFail) {
  Platter platter = WithAFile();
  auto stopped = *FakeFolder(platter).Open(kFile, OpenFor::kWriting);
  ASSERT_TRUE(*stopped->TryLock());
  const absl::Status status = Write(OnFake(platter), 1, "x");
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(OnFake(platter).Read()->data, "");
  stopped.reset();
  EXPECT_EQ(Write(OnFake(platter), 1, "x"), absl::OkStatus());
}

TEST(FileOnDisk, WhatIsDamagedIsNeitherWrittenNorCreatedAnew) {
  for (const std::string text : {"", "zkrecipes fenced 1 0 0 0 w 00000000\n", "anything"}) {
    Platter platter;
    platter.names[kFile] = std::make_shared<Content>(Content{text, text});
    EXPECT_TRUE(absl::IsDataLoss(Write(OnFake(platter), 1, "x"))) << text;
    EXPECT_TRUE(absl::IsDataLoss(OnFake(platter).Read().status())) << text;
    EXPECT_TRUE(absl::IsAlreadyExists(OnFake(platter).Create())) << text;
    EXPECT_EQ(platter.names[kFile]->now, text);
  }
}

}  // namespace
}  // namespace zkrecipes::fencing

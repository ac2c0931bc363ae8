// SPDX-License-Identifier: Apache-2.0
//
// The clauses in SQLite, beside the rule itself.

#include "zkrecipes/fencing/fencing_sql.h"

#include <sqlite3.h>

#include <memory>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "zkrecipes/fencing/fencing_floor.h"

namespace zkrecipes {
namespace {

using Database = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;

Database InMemory() {
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open(":memory:", &database), SQLITE_OK);
  return Database(database, &sqlite3_close);
}

void Do(sqlite3* database, const std::string& sql) {
  ASSERT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sql << ": " << sqlite3_errmsg(database);
}

// A token has turns or none: here the even ones have.
bool HasTurns(FencingToken token) { return token.value() % 2 == 0; }

FencingFloor FloorIn(sqlite3* database) {
  FencingFloor floor;
  const auto read = [](void* out, int, char** texts, char**) {
    *static_cast<FencingFloor*>(out) = {std::stoll(texts[0]), FencingToken(std::stoll(texts[1])),
                                        FencingToken(std::stoll(texts[2])), std::stoll(texts[3])};
    return 0;
  };
  EXPECT_EQ(
      sqlite3_exec(database, "SELECT fence_epoch, fence, fence_shared, fence_turn FROM ledger",
                   read, &floor, nullptr),
      SQLITE_OK);
  // A token without turns leaves there what was there.
  if (floor.exclusive == FencingToken() || !HasTurns(floor.exclusive)) floor.turn = 0;
  return floor;
}

TEST(FenceClausesInSqlite, AdmitAndRaiseAsTheRuleDoes) {
  const Database database = InMemory();
  Do(database.get(),
     "CREATE TABLE ledger (id int, balance int, fence_epoch bigint NOT NULL DEFAULT 0, "
     "fence bigint NOT NULL DEFAULT 0, fence_shared bigint NOT NULL DEFAULT 0, "
     "fence_turn bigint NOT NULL DEFAULT 0); INSERT INTO ledger (id, balance) VALUES (7, 0)");
  std::mt19937 random(35);  // NOLINT(cert-msc51-cpp)
  FencingFloor model;
  int admitted = 0;
  for (int i = 0; i < 5000; ++i) {
    // Most are near the floor; beyond what a double holds, too.
    const int64_t base = (1LL << 60) + i / 100;
    FencingPass pass = {.token = FencingToken(base + static_cast<int64_t>(random() % 9)),
                        .mode = random() % 2 == 0 ? GrantMode::kShared : GrantMode::kExclusive,
                        .epoch = i / 1000 - static_cast<int64_t>(random() % 20 == 0 && i >= 1000)};
    if (pass.mode == GrantMode::kExclusive && HasTurns(pass.token)) pass.turn = 1 + random() % 12;
    const auto clauses = FenceClauses(pass);
    ASSERT_TRUE(clauses.ok()) << clauses.status();
    Do(database.get(), absl::StrCat("UPDATE ledger SET balance = balance + 1, ", clauses->set,
                                    " WHERE id = 7 AND ", clauses->where));
    const bool expected = model.Admit(pass).ok();
    ASSERT_EQ(sqlite3_changes(database.get()) == 1, expected) << i;
    ASSERT_EQ(FloorIn(database.get()), model) << i;
    admitted += expected;
  }
  EXPECT_GT(admitted, 400);
  EXPECT_LT(admitted, 3600);
}

TEST(FenceClausesInSqlite, APassWithoutATurnNeedsNoColumnOfTurns) {
  const Database database = InMemory();
  Do(database.get(),
     "CREATE TABLE ledger (id int, fence_epoch bigint NOT NULL DEFAULT 0, fence bigint NOT NULL "
     "DEFAULT 0, fence_shared bigint NOT NULL DEFAULT 0); INSERT INTO ledger (id) VALUES (7)");
  const auto update = [&](const FencingPass& pass) {
    const auto clauses = *FenceClauses(pass);
    return sqlite3_exec(database.get(),
                        ("UPDATE ledger SET " + clauses.set + " WHERE " + clauses.where).c_str(),
                        nullptr, nullptr, nullptr);
  };
  EXPECT_EQ(update({.token = FencingToken(5)}), SQLITE_OK);
  EXPECT_EQ(sqlite3_changes(database.get()), 1);
  EXPECT_EQ(update({.token = FencingToken(6), .turn = 1}), SQLITE_ERROR) << "no such column";
}

TEST(SqlStateStatus, TellsWhatMayBeTriedAgain) {
  EXPECT_TRUE(absl::IsFailedPrecondition(SqlStateStatus("ZKR01", "stale")));
  EXPECT_TRUE(absl::IsFailedPrecondition(SqlStateStatus("ZKR02", "no pass")));
  EXPECT_TRUE(absl::IsAborted(SqlStateStatus("40001", "serialization failure")));
  EXPECT_TRUE(absl::IsUnavailable(SqlStateStatus("", "lost")));
  // 40003: not known whether it was done. 25P03, 25P04: a timeout has ended the connection.
  for (const char* state : {"57P01", "40003", "25P03", "25P04"}) {
    EXPECT_TRUE(absl::IsUnavailable(SqlStateStatus(state, "it has ended"))) << state;
  }
  EXPECT_TRUE(absl::IsPermissionDenied(SqlStateStatus("42501", "denied")));
  EXPECT_TRUE(absl::IsInvalidArgument(SqlStateStatus("42601", "syntax error")));
}

TEST(FencingArguments, AreTextOfAPassAlone) {
  EXPECT_EQ(*FencingArguments({.token = FencingToken(5), .mode = GrantMode::kShared, .epoch = 2}),
            "2, 5, true");
  EXPECT_EQ(*FencingArguments({.token = FencingToken(5), .epoch = 2}), "2, 5, false");
  EXPECT_EQ(*FencingArguments({.token = FencingToken(5), .turn = 9}), "0, 5, false, 9");
  EXPECT_TRUE(absl::IsInvalidArgument(FencingArguments({}).status()));
}

}  // namespace
}  // namespace zkrecipes

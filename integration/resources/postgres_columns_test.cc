// SPDX-License-Identifier: Apache-2.0
//
// Claims of PostgreSQL with columns: isolation levels, statements, names, errors.

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "integration/resources/postgres_tables_fixture.h"

namespace resources {
namespace {

using ::testing::HasSubstr;
using zkrecipes::AddFenceColumns;
using zkrecipes::CommitFenced;
using zkrecipes::FencedOutcome;
using zkrecipes::FencingPass;
using zkrecipes::FencingToken;
using zkrecipes::GuardTable;
using zkrecipes::PostgresRow;
using Code = absl::StatusCode;

TEST_F(PostgresTest, AWriterThatWaitedForANewerOneIsRefused) {
  ASSERT_EQ(a.Do("BEGIN"), absl::OkStatus());
  ASSERT_EQ(a.Write("new", Pass(6)), absl::OkStatus());
  absl::Status stale;
  std::jthread waits([&] { stale = b.Write("old", Pass(5)); });
  AwaitThatBWaits();
  ASSERT_EQ(CommitFenced(a.get()), absl::OkStatus());
  waits.join();
  EXPECT_EQ(stale.code(), Code::kFailedPrecondition) << stale;
  EXPECT_THAT(stale.message(), HasSubstr("older than 6"));
  EXPECT_EQ(a.Ask("SELECT note FROM ledger"), "new");
}

TEST_F(PostgresTest, AtRepeatableReadAWriterThatANewerOneOvertookIsAborted) {
  ASSERT_EQ(b.Do("BEGIN ISOLATION LEVEL REPEATABLE READ"), absl::OkStatus());
  b.Ask("SELECT note FROM ledger");
  ASSERT_EQ(a.Write("new", Pass(6)), absl::OkStatus());
  EXPECT_EQ(b.Write("old", Pass(5)).code(), Code::kAborted);
  EXPECT_EQ(b.Write("old", Pass(5)).code(), Code::kAborted) << "the transaction has failed";
  EXPECT_EQ(CommitFenced(b.get()).code(), Code::kAborted);
  EXPECT_EQ(a.Ask("SELECT note FROM ledger"), "new");
}

TEST_F(PostgresTest, ARowThatIsNotThereIsNotStale) {
  const PostgresRow row{{"", "ledger"}, {{"id", "8"}}, {{"note", "x"}}};
  EXPECT_EQ(UpdateFenced(a.get(), row, Pass(5)).code(), Code::kNotFound);
  EXPECT_EQ(UpsertFenced(a.get(), row, Pass(5)), absl::OkStatus());
  EXPECT_EQ(UpsertFenced(a.get(), row, Pass(4)).code(), Code::kFailedPrecondition);
  EXPECT_EQ(UpdateFenced(a.get(), row, Pass(5)), absl::OkStatus());
}

TEST_F(PostgresTest, AStatementOfOnesOwnTakesTheClauses) {
  const auto spend = [&](const FencingPass& pass) {
    const auto clauses = FenceClauses(pass, "l");
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(
        PQexec(a.get(), absl::StrCat("UPDATE ledger l SET balance = balance - 4, ", clauses->set,
                                     " WHERE id = 7 AND ", clauses->where)
                            .c_str()),
        &PQclear);
    return FencedOutcome(result.get());
  };
  EXPECT_EQ(spend(Pass(5)), absl::OkStatus());
  EXPECT_EQ(spend(Pass(4)).code(), Code::kFailedPrecondition);
  EXPECT_EQ(a.Ask("SELECT balance FROM ledger"), "6");
  EXPECT_EQ(FenceClauses(Pass(0)).status().code(), Code::kInvalidArgument);
}

TEST_F(PostgresTest, NamesAreQuotedAndValuesAreParameters) {
  const std::string name = "le\"dger; DROP TABLE ledger";
  ASSERT_EQ(a.Do("CREATE SCHEMA IF NOT EXISTS \"o'dd\"; DROP TABLE IF EXISTS \"o'dd\".\"le\"\"dger;"
                 " DROP TABLE ledger\"; CREATE TABLE \"o'dd\".\"le\"\"dger; DROP TABLE ledger\""
                 " (\"the key\" text PRIMARY KEY, \"SET\" text)"),
            absl::OkStatus());
  ASSERT_EQ(AddFenceColumns(a.get(), {"o'dd", name}), absl::OkStatus());
  const PostgresRow row{{"o'dd", name}, {{"the key", "'; --"}}, {{"SET", std::nullopt}}};
  EXPECT_EQ(UpsertFenced(a.get(), row, Pass(5)), absl::OkStatus());
  EXPECT_EQ(UpdateFenced(a.get(), row, Pass(5)), absl::OkStatus());
  EXPECT_EQ(UpdateFenced(a.get(), row, Pass(4)).code(), Code::kFailedPrecondition);
  EXPECT_EQ(GuardTable(a.get(), {"o'dd", name}, "it's"), absl::OkStatus());
  EXPECT_THAT(UpdateFenced(a.get(), row, Pass(5)).message(), HasSubstr("no pass for it's"));
  EXPECT_EQ(a.Ask("SELECT count(*) FROM ledger"), "1");
}

TEST_F(PostgresTest, WhatNamesNothingIsAnInvalidArgument) {
  const PostgresRow no_key{{"", "ledger"}, {}, {{"note", "x"}}};
  const PostgresRow null_key{{"", "ledger"}, {{"id", std::nullopt}}, {{"note", "x"}}};
  const PostgresRow no_name{{"", ""}, {{"id", "7"}}, {{"note", "x"}}};
  const PostgresRow no_column{{"", "ledger"}, {{"id", "7"}}, {{"nothing", "x"}}};
  for (const PostgresRow& row : {no_key, null_key, no_name, no_column}) {
    EXPECT_EQ(UpdateFenced(a.get(), row, Pass(5)).code(), Code::kInvalidArgument);
    EXPECT_EQ(UpsertFenced(a.get(), row, Pass(5)).code(), Code::kInvalidArgument);
  }
  EXPECT_EQ(GuardTable(a.get(), {"", "ledger"}, "").code(), Code::kInvalidArgument);
  EXPECT_EQ(GuardTable(a.get(), {"", "ledger"}, "x", "nothing").code(), Code::kInvalidArgument);
}

TEST_F(PostgresTest, ATextWithANulIsRefusedSinceOnlyWhatIsBeforeItWouldBeSent) {
  const std::string nul = std::string(1, '\0') + "x";
  const PostgresRow other_key{{"", "ledger"}, {{"id", "7" + nul}}, {{"note", "x"}}};
  const PostgresRow half_value{{"", "ledger"}, {{"id", "7"}}, {{"note", "x" + nul}}};
  const PostgresRow other_table{{"", "ledger" + nul}, {{"id", "7"}}, {{"note", "x"}}};
  const PostgresRow other_column{{"", "ledger"}, {{"id", "7"}}, {{"note" + nul, "x"}}};
  for (const PostgresRow& row : {other_key, half_value, other_table, other_column}) {
    EXPECT_EQ(UpdateFenced(a.get(), row, Pass(5)).code(), Code::kInvalidArgument);
    EXPECT_EQ(UpsertFenced(a.get(), row, Pass(5)).code(), Code::kInvalidArgument);
  }
  EXPECT_EQ(GuardTable(a.get(), {"", "ledger"}, "ledger" + nul).code(), Code::kInvalidArgument);
  EXPECT_EQ(a.Ask("SELECT note FROM ledger WHERE id = 7"), "") << "nothing was written";
}

TEST_F(PostgresTest, AKeyOfSeveralRowsIsRefusedSinceHalfOfThemMightBeWritten) {
  ASSERT_EQ(a.Do("INSERT INTO ledger VALUES (8, '')"), absl::OkStatus());
  ASSERT_EQ(a.Write("newer", Pass(6)), absl::OkStatus());
  const PostgresRow both{{"", "ledger"}, {{"balance", "10"}}, {{"note", "older"}}};
  const absl::Status refused = UpdateFenced(a.get(), both, Pass(5));
  EXPECT_EQ(refused.code(), Code::kInvalidArgument) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("names 2 rows of ledger"));
  EXPECT_EQ(UpsertFenced(a.get(), both, Pass(5)).code(), Code::kInvalidArgument);
  EXPECT_EQ(a.Ask("SELECT string_agg(note, ',' ORDER BY id) FROM ledger"), "newer,");
}

TEST_F(PostgresTest, ColumnsThatCannotHoldAFloorAreRefused) {
  for (const char* column :
       {"fence bigint", "fence_shared int NOT NULL", "fence_epoch text", "fence_turn int"}) {
    ASSERT_EQ(
        a.Do(absl::StrCat("DROP TABLE IF EXISTS other; CREATE TABLE other (id int, ", column, ")")),
        absl::OkStatus());
    const absl::Status refused = AddFenceColumns(a.get(), {"", "other"});
    EXPECT_EQ(refused.code(), Code::kInvalidArgument) << column << refused;
    EXPECT_THAT(refused.message(), HasSubstr("other has a column fence"));
    EXPECT_EQ(a.Ask("SELECT count(*) FROM pg_attribute WHERE attrelid = 'other'::regclass "
                    "AND attnum > 0"),
              "2")
        << "nothing was added";
  }
  EXPECT_EQ(AddFenceColumns(a.get(), {"", "ledger"}), absl::OkStatus()) << "a second time";
}

TEST_F(PostgresTest, ATableFromBeforeTheTurnsNeedsTheirColumnOnlyForThem) {
  ASSERT_EQ(a.Do("ALTER TABLE ledger DROP COLUMN fence_turn"), absl::OkStatus());
  FencingPass turn = Pass(6);
  turn.turn = 2;
  EXPECT_EQ(a.Write("five", Pass(5)), absl::OkStatus());
  EXPECT_EQ(a.Write("four", Pass(4)).code(), Code::kFailedPrecondition);
  const PostgresRow row{{"", "ledger"}, {{"id", "8"}}, {{"note", "x"}}};
  EXPECT_EQ(UpsertFenced(a.get(), row, Pass(5)), absl::OkStatus());
  const absl::Status lacks = a.Write("six", turn);
  EXPECT_EQ(lacks.code(), Code::kInvalidArgument) << lacks;
  EXPECT_THAT(lacks.message(), HasSubstr("fence_turn does not exist"));

  ASSERT_EQ(AddFenceColumns(a.get(), {"", "ledger"}), absl::OkStatus());
  EXPECT_EQ(a.Write("six", turn), absl::OkStatus());
  --turn.turn;
  EXPECT_THAT(a.Write("late", turn).message(),
              HasSubstr("turn 1 of the token 6 (exclusive) is over"));
  EXPECT_EQ(a.Ask("SELECT note FROM ledger WHERE id = 7"), "six");
}

// ---- Both forms, beside the rule ----------------------------------------------------------------

// Holders of either mode, some of them out of date, whose transactions end, are rolled back, lose
// their connection, or lose the answer to COMMIT.
TEST_F(PostgresTest, RandomHoldersAreAdmittedAsTheRuleSaysWhateverBecomesOfTheirTransactions) {
  std::mt19937 random(35);  // NOLINT(cert-msc51-cpp)
  zkrecipes::FencingFloor model;
  auto c = std::make_unique<Connection>(server()->address());
  int admitted = 0, refused = 0, writes = 0;
  for (int i = 0; i < 600; ++i) {
    FencingPass pass = {.token = FencingToken(i / 10 + 1 + static_cast<int64_t>(random() % 9)),
                        .mode = random() % 2 == 0 ? zkrecipes::GrantMode::kShared
                                                  : zkrecipes::GrantMode::kExclusive,
                        .epoch = i / 200};
    // A token has turns or none: here the even ones have.
    if (pass.mode == zkrecipes::GrantMode::kExclusive && pass.token.value() % 2 == 0) {
      pass.turn = 1 + random() % 12;
    }
    zkrecipes::FencingFloor raised = model;
    const bool expected = raised.Admit(pass).ok();
    ASSERT_EQ(c->Do("BEGIN"), absl::OkStatus());
    const absl::Status shown = ShowPass(c->get(), "guarded", pass);
    const absl::Status column = shown.ok() ? c->Write("x", pass) : shown;
    ASSERT_EQ(shown.code(), expected ? Code::kOk : Code::kFailedPrecondition) << i << shown;
    ASSERT_EQ(column.ok(), expected) << i << column;
    if (expected) {
      ASSERT_EQ(c->Do("INSERT INTO guarded VALUES ((SELECT count(*) FROM guarded), 'x')"),
                absl::OkStatus());
    }
    const auto fate = random() % 8;
    if (fate < 5) {
      EXPECT_EQ(CommitFenced(c->get()).ok(), expected);
    } else if (fate == 5) {
      EXPECT_EQ(c->Do("ROLLBACK"), absl::OkStatus());
    } else if (fate == 6) {  // its process dies
      c = std::make_unique<Connection>(server()->address());
    } else {  // the server has the COMMIT, and its answer is never read
      EXPECT_EQ(PQsendQuery(c->get(), "COMMIT"), 1);
      c = std::make_unique<Connection>(server()->address());
    }
    const bool committed = expected && (fate < 5 || fate == 7);
    if (fate == 7) {
      // As a retry finds out: behind the lock that the transaction had.
      a.Ask("SELECT count(*) FROM (SELECT FROM zkrecipes.floors FOR UPDATE) AS floor");
    }
    if (committed) model = raised;
    (expected ? admitted : refused)++;
    writes += committed;
    ASSERT_EQ(a.Ask("SELECT count(*) FROM guarded"), absl::StrCat(writes)) << i;
    for (const std::string floor :
         {"SELECT concat_ws(' ', epoch, exclusive, shared, turn) FROM zkrecipes.floors",
          "SELECT concat_ws(' ', fence_epoch, fence, fence_shared, CASE WHEN fence > 0 AND "
          "fence % 2 = 0 THEN fence_turn ELSE 0 END) FROM ledger"}) {
      ASSERT_EQ(a.Ask(floor), absl::StrCat(model.epoch, " ", model.exclusive.value(), " ",
                                           model.shared.value(), " ", model.turn))
          << i;
    }
  }
  EXPECT_GT(admitted, 100);
  EXPECT_GT(refused, 100);
}

// ---- Errors -------------------------------------------------------------------------------------

TEST_F(PostgresTest, ALostConnectionIsUnavailable) {
  ASSERT_EQ(b.Do("BEGIN"), absl::OkStatus());
  ASSERT_EQ(ShowPass(b.get(), "guarded", Pass(5)), absl::OkStatus());
  a.Ask(absl::StrCat("SELECT pg_terminate_backend(", PQbackendPID(b.get()), ", 30000)"));
  const absl::Status committed = CommitFenced(b.get());
  EXPECT_EQ(committed.code(), Code::kUnavailable);
  EXPECT_THAT(committed.message(), HasSubstr("not known whether"));
  EXPECT_EQ(b.Write("x", Pass(5)).code(), Code::kUnavailable);
  EXPECT_EQ(ShowPass(b.get(), "guarded", Pass(5)).code(), Code::kUnavailable);
}

TEST_F(PostgresTest, ACommitOutsideATransactionIsNone) {
  ASSERT_EQ(b.Do("BEGIN"), absl::OkStatus());
  ASSERT_EQ(ShowPass(b.get(), "guarded", Pass(5)), absl::OkStatus());
  a.Ask(absl::StrCat("SELECT pg_terminate_backend(", PQbackendPID(b.get()), ", 30000)"));
  PQreset(b.get());
  EXPECT_EQ(CommitFenced(b.get()).code(), Code::kInvalidArgument)
      << "PostgreSQL only warns that there is none, though the one before was rolled back";
}

TEST_F(PostgresTest, AResultThatIsNotTheLastOneSaysSo) {
  EXPECT_THAT(a.Do("").message(), HasSubstr("empty"));
  EXPECT_THAT(a.Do("COPY ledger TO STDOUT").message(), HasSubstr("COPY"));
  EXPECT_EQ(b.Do("COPY ledger FROM STDIN").code(), Code::kInvalidArgument);
}

TEST_F(PostgresTest, AStandbyIsUnavailable) {
  ASSERT_EQ(a.Do("SET default_transaction_read_only = on"), absl::OkStatus());  // as there
  EXPECT_EQ(a.Write("x", Pass(5)).code(), Code::kUnavailable);
}

}  // namespace
}  // namespace resources

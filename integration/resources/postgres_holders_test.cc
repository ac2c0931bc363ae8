// SPDX-License-Identifier: Apache-2.0
//
// Claims of the trigger: who holds, for which rows, and for how long others wait for a holder.

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include <gmock/gmock.h>

#include "integration/resources/postgres_tables_fixture.h"

namespace resources {
namespace {

using ::testing::HasSubstr;
using zkrecipes::BeginOperation;
using zkrecipes::CommitFenced;
using zkrecipes::EndHolder;
using zkrecipes::FencingPass;
using zkrecipes::GuardTable;
using Code = absl::StatusCode;

TEST_F(PostgresTest, AWriterThatForgotToShowItsPassIsRefused) {
  ASSERT_EQ(InTransaction(a, Pass(5), "INSERT INTO guarded VALUES (1, 'x')"), absl::OkStatus());
  ASSERT_EQ(a.Do("CREATE VIEW shown AS SELECT * FROM guarded"), absl::OkStatus());
  for (const char* sql :
       {"INSERT INTO guarded VALUES (2, 'x')", "UPDATE guarded SET note = 'y'",
        "DELETE FROM guarded", "TRUNCATE guarded",
        "INSERT INTO guarded VALUES (1, 'y') ON CONFLICT (id) DO UPDATE SET note = 'y'",
        "INSERT INTO guarded VALUES (1, 'y') ON CONFLICT DO NOTHING",
        "COPY guarded (id) FROM PROGRAM 'echo 2'", "UPDATE shown SET note = 'y'",
        "WITH gone AS (DELETE FROM guarded RETURNING id) SELECT * FROM gone",
        "DO $$ BEGIN UPDATE guarded SET note = 'y'; END $$",
        "MERGE INTO guarded USING ledger ON true WHEN MATCHED THEN DELETE"}) {
    const absl::Status status = a.Do(sql);
    EXPECT_EQ(status.code(), Code::kFailedPrecondition) << sql << ": " << status;
    EXPECT_THAT(status.message(), HasSubstr("no pass for guarded was shown"));
  }
  EXPECT_EQ(a.Ask("SELECT note FROM guarded"), "x");
  EXPECT_EQ(a.Do("DROP VIEW shown"), absl::OkStatus());
}

TEST_F(PostgresTest, AGuardedTableIsGuardedAlsoWhenItsRowsGoWithThoseOfAnother) {
  ASSERT_EQ(a.Do("CREATE TABLE parents (id int PRIMARY KEY); INSERT INTO parents VALUES (1);"
                 "ALTER TABLE guarded ADD FOREIGN KEY (id) REFERENCES parents ON DELETE CASCADE"),
            absl::OkStatus());
  ASSERT_EQ(InTransaction(a, Pass(5), "INSERT INTO guarded VALUES (1, 'x')"), absl::OkStatus());
  EXPECT_EQ(a.Do("DELETE FROM parents").code(), Code::kFailedPrecondition);
  EXPECT_EQ(a.Do("TRUNCATE parents CASCADE").code(), Code::kFailedPrecondition);
  EXPECT_EQ(InTransaction(a, Pass(5), "DELETE FROM parents"), absl::OkStatus());
  EXPECT_EQ(a.Ask("SELECT count(*) FROM guarded"), "0");
  EXPECT_EQ(a.Do("DROP TABLE parents CASCADE"), absl::OkStatus());
}

TEST_F(PostgresTest, APreparedTransactionKeepsLaterHoldersWaitingUntilItEnds) {
  ASSERT_EQ(a.Do("BEGIN"), absl::OkStatus());
  ASSERT_EQ(ShowPass(a.get(), "guarded", Pass(5)), absl::OkStatus());
  ASSERT_EQ(a.Do("INSERT INTO guarded VALUES (1, 'old')"), absl::OkStatus());
  ASSERT_EQ(a.Do("PREPARE TRANSACTION 'two-phase'"), absl::OkStatus());
  ASSERT_EQ(b.Do("SET lock_timeout = '200ms'"), absl::OkStatus());
  EXPECT_EQ(InTransaction(b, Pass(6), "DELETE FROM guarded").code(), Code::kUnavailable);
  EXPECT_EQ(b.Do("COMMIT PREPARED 'two-phase'"), absl::OkStatus());
  EXPECT_EQ(InTransaction(b, Pass(4), "DELETE FROM guarded").code(), Code::kFailedPrecondition);
  EXPECT_EQ(InTransaction(b, Pass(6), "UPDATE guarded SET note = 'new'"), absl::OkStatus());
  EXPECT_EQ(a.Ask("SELECT note FROM guarded"), "new");
}

TEST_F(PostgresTest, AStaleTransactionLeavesNothing) {
  ASSERT_EQ(InTransaction(a, Pass(6), "INSERT INTO guarded VALUES (1, 'x')"), absl::OkStatus());
  ASSERT_EQ(b.Do("BEGIN"), absl::OkStatus());
  ASSERT_EQ(b.Do("UPDATE ledger SET note = 'before'"), absl::OkStatus());
  EXPECT_EQ(ShowPass(b.get(), "guarded", Pass(5)).code(), Code::kFailedPrecondition);
  EXPECT_EQ(b.Do("UPDATE guarded SET note = 'stale'").code(), Code::kAborted);
  EXPECT_EQ(CommitFenced(b.get()).code(), Code::kAborted)
      << "which PostgreSQL answers with success";
  EXPECT_EQ(a.Ask("SELECT guarded.note || ledger.note FROM guarded, ledger"), "x");
}

TEST_F(PostgresTest, APassHoldsForItsTransactionAndResourceOnly) {
  EXPECT_EQ(ShowPass(a.get(), "guarded", Pass(5)).code(), Code::kInvalidArgument)
      << "outside a transaction";
  ASSERT_EQ(InTransaction(a, Pass(5), "SELECT 1"), absl::OkStatus());
  EXPECT_EQ(a.Do("DELETE FROM guarded").code(), Code::kFailedPrecondition);
  ASSERT_EQ(a.Do("BEGIN"), absl::OkStatus());
  ASSERT_EQ(ShowPass(a.get(), "another", Pass(5)), absl::OkStatus());
  EXPECT_EQ(a.Do("DELETE FROM guarded").code(), Code::kFailedPrecondition);
}

TEST_F(PostgresTest, APassIsGoneWithItsSavepoint) {
  ASSERT_EQ(a.Do("BEGIN; SAVEPOINT s"), absl::OkStatus());
  ASSERT_EQ(ShowPass(a.get(), "guarded", Pass(9)), absl::OkStatus());
  ASSERT_EQ(a.Do("ROLLBACK TO s"), absl::OkStatus());
  EXPECT_EQ(a.Do("DELETE FROM guarded").code(), Code::kFailedPrecondition);
  ASSERT_EQ(a.Do("ROLLBACK"), absl::OkStatus());
  EXPECT_EQ(InTransaction(a, Pass(5), "DELETE FROM guarded"), absl::OkStatus());
}

TEST_F(PostgresTest, ANewerHolderWaitsForATransactionThatHasShownItsPass) {
  ASSERT_EQ(a.Do("BEGIN"), absl::OkStatus());
  ASSERT_EQ(ShowPass(a.get(), "guarded", Pass(5)), absl::OkStatus());
  absl::Status newer;
  std::jthread waits([&] { newer = InTransaction(b, Pass(6), "UPDATE guarded SET note = 'new'"); });
  AwaitThatBWaits();
  EXPECT_EQ(a.Do("INSERT INTO guarded VALUES (1, 'old')"), absl::OkStatus());
  EXPECT_EQ(CommitFenced(a.get()), absl::OkStatus());
  waits.join();
  EXPECT_EQ(newer, absl::OkStatus());
  EXPECT_EQ(a.Ask("SELECT note FROM guarded"), "new");
  EXPECT_EQ(InTransaction(a, Pass(5), "DELETE FROM guarded").code(), Code::kFailedPrecondition);
}

TEST_F(PostgresTest, AtRepeatableReadAPassThatANewerOneOvertookIsAborted) {
  ASSERT_EQ(InTransaction(a, Pass(4), "SELECT 1"), absl::OkStatus());
  ASSERT_EQ(b.Do("BEGIN ISOLATION LEVEL REPEATABLE READ"), absl::OkStatus());
  b.Ask("SELECT count(*) FROM guarded");
  ASSERT_EQ(InTransaction(a, Pass(6), "SELECT 1"), absl::OkStatus());
  EXPECT_EQ(ShowPass(b.get(), "guarded", Pass(5)).code(), Code::kAborted);
}

TEST_F(PostgresTest, EachRowCanBeAResource) {
  ASSERT_EQ(GuardTable(a.get(), {"", "ledger"}, "ledger/", "id"), absl::OkStatus());
  const auto with = [&](const std::string& resource, const std::string& sql) {
    EXPECT_EQ(a.Do("BEGIN"), absl::OkStatus());
    EXPECT_EQ(ShowPass(a.get(), resource, Pass(5)), absl::OkStatus());
    const absl::Status status = a.Do(sql);
    const absl::Status committed = CommitFenced(a.get());
    return status.ok() ? committed : status;
  };
  EXPECT_EQ(with("ledger/7", "UPDATE ledger SET note = 'x' WHERE id = 7"), absl::OkStatus());
  for (const char* sql :
       {"INSERT INTO ledger VALUES (8, 'x')", "UPDATE ledger SET id = 8", "TRUNCATE ledger"}) {
    EXPECT_EQ(with("ledger/7", sql).code(), Code::kFailedPrecondition) << sql;
  }
  EXPECT_EQ(with("ledger/", "UPDATE ledger SET note = 'y'").code(), Code::kFailedPrecondition);
  EXPECT_EQ(with("ledger/", "TRUNCATE ledger"), absl::OkStatus());
}

// The name of a row's resource is that of its rendering, which no session's settings change.
TEST_F(PostgresTest, ARowHasOneNameInAllSessions) {
  struct Key {
    const char *type, *value, *one, *other;
  };
  for (const Key& key : {
           Key{"timestamptz", "2026-01-02 03:04:05Z", "SET TimeZone = 'UTC'",
               "SET TimeZone = 'Asia/Tokyo'"},
           Key{"tstzrange", "[2026-01-02Z, 2026-03-04Z)", "SET TimeZone = 'UTC'",
               "SET DateStyle = 'German'"},
           Key{"bytea", "a", "SET bytea_output = hex", "SET bytea_output = escape"},
           Key{"interval", "1 day 2 hours", "SET IntervalStyle = postgres",
               "SET IntervalStyle = iso_8601"},
           Key{"float8", "0.1", "SET extra_float_digits = 1", "SET extra_float_digits = -10"},
           Key{"float8", "0.30000000000000004", "SET extra_float_digits = 1",
               "SET extra_float_digits = 0"},
       }) {
    ASSERT_EQ(a.Do(absl::StrCat("RESET ALL; DROP TABLE IF EXISTS days; CREATE TABLE days (day ",
                                key.type, " PRIMARY KEY, note text); INSERT INTO days VALUES ('",
                                key.value, "', '')")),
              absl::OkStatus());
    ASSERT_EQ(GuardTable(a.get(), {"", "days"}, "days/", "day"), absl::OkStatus());
    const auto write = [&](Connection& c, const std::string& resource, int64_t token) {
      EXPECT_EQ(c.Do("BEGIN"), absl::OkStatus());
      EXPECT_EQ(ShowPass(c.get(), "days/" + resource, Pass(token)), absl::OkStatus());
      const absl::Status status = c.Do(absl::StrCat("UPDATE days SET note = ", token));
      const absl::Status committed = CommitFenced(c.get());
      return status.ok() ? committed : status;
    };
    ASSERT_EQ(a.Do(key.one), absl::OkStatus());
    ASSERT_EQ(b.Do(absl::StrCat("RESET ALL; ", key.other)), absl::OkStatus());
    const char kName[] = "SELECT to_jsonb(day) #>> '{}' FROM days";
    EXPECT_EQ(write(a, a.Ask(kName), 7), absl::OkStatus()) << key.type;
    const std::string others = b.Ask(kName);
    if (others != a.Ask(kName)) {
      EXPECT_EQ(write(b, others, 5).code(), Code::kFailedPrecondition) << key.type << others;
    }
    EXPECT_EQ(write(b, a.Ask(kName), 8), absl::OkStatus()) << key.type;
    EXPECT_EQ(a.Do("DROP TABLE days"), absl::OkStatus());
  }
}

TEST_F(PostgresTest, TheKeyOfALargeRowIsReadWithoutTheRow) {
  ASSERT_EQ(GuardTable(a.get(), {"", "guarded"}, "guarded/", "id"), absl::OkStatus());
  ASSERT_EQ(a.Do("BEGIN"), absl::OkStatus());
  for (int i = 1; i <= 20; ++i) {
    ASSERT_EQ(ShowPass(a.get(), absl::StrCat("guarded/", i), Pass(5)), absl::OkStatus());
  }
  ASSERT_EQ(a.Do("INSERT INTO guarded SELECT i, repeat(md5(i::text), 65536) "
                 "FROM generate_series(1, 20) AS i"),
            absl::OkStatus());
  ASSERT_EQ(CommitFenced(a.get()), absl::OkStatus());
  const auto take = [&](const char* sql) {
    EXPECT_EQ(a.Do("BEGIN"), absl::OkStatus());
    for (int i = 1; i <= 20; ++i) {
      EXPECT_EQ(ShowPass(a.get(), absl::StrCat("guarded/", i), Pass(5)), absl::OkStatus());
    }
    const absl::Time began = absl::Now();
    EXPECT_EQ(a.Do(sql), absl::OkStatus());
    const absl::Duration took = absl::Now() - began;
    EXPECT_EQ(a.Do("ROLLBACK"), absl::OkStatus());
    return took;
  };
  absl::Duration judging = absl::InfiniteDuration();  // the best of five: it takes milliseconds
  for (int i = 0; i < 5; ++i) judging = std::min(judging, take("UPDATE guarded SET id = id"));
  const absl::Duration reading =
      take("SELECT sum(length(to_jsonb(guarded) ->> 'id')) FROM guarded");
  RecordProperty("judging_us", static_cast<int>(absl::ToInt64Microseconds(judging)));
  RecordProperty("reading_us", static_cast<int>(absl::ToInt64Microseconds(reading)));
  EXPECT_LT(judging * 4, reading);
}

// ---- A holder that stands still, and answers that are lost --------------------------------------

TEST_F(PostgresTest, AHolderThatStandsStillInsideAStatementIsEndedByANewerOne) {
  for (const std::string sql : {"COPY guarded FROM STDIN", "SELECT repeat('x', 100000000)"}) {
    Connection old(server()->address() + " application_name=old");
    ASSERT_EQ(old.Do("BEGIN"), absl::OkStatus());
    ASSERT_EQ(old.Do("SAVEPOINT s"), absl::OkStatus());
    ASSERT_EQ(ShowPass(old.get(), "guarded", Pass(5)), absl::OkStatus());
    // In one statement, since this timeout is for what is between two.
    ASSERT_EQ(PQsendQuery(old.get(),
                          ("SET LOCAL idle_in_transaction_session_timeout = 100; " + sql).c_str()),
              1);

    ASSERT_EQ(b.Do("SET lock_timeout = '200ms'"), absl::OkStatus());
    EXPECT_EQ(InTransaction(b, Pass(6), "SELECT 1").code(), Code::kUnavailable);
    const auto ended = EndHolder(b.get(), "guarded", Pass(6));
    ASSERT_TRUE(ended.ok()) << ended.status();
    EXPECT_EQ(*ended, 1) << sql;
    EXPECT_EQ(InTransaction(b, Pass(6), "SELECT 1"), absl::OkStatus());
    EXPECT_EQ(*EndHolder(b.get(), "guarded", Pass(6)), 0) << "there is none any more";
    EXPECT_EQ(EndHolder(b.get(), "guarded", Pass(5)).status().code(), Code::kFailedPrecondition);
    FencingPass turn = Pass(6);
    turn.turn = 2;
    EXPECT_EQ(InTransaction(b, turn, "SELECT 1"), absl::OkStatus());
    EXPECT_EQ(*EndHolder(b.get(), "guarded", turn), 0);
    --turn.turn;
    EXPECT_EQ(EndHolder(b.get(), "guarded", turn).status().code(), Code::kFailedPrecondition);
    ASSERT_EQ(a.Do("DELETE FROM zkrecipes.floors"), absl::OkStatus());
    ASSERT_EQ(GuardTable(a.get(), {"", "guarded"}, "guarded"), absl::OkStatus());
  }
  Connection user = PlainUser();
  EXPECT_EQ(EndHolder(user.get(), "guarded", Pass(9)).status().code(), Code::kPermissionDenied);
}

TEST_F(PostgresTest, AHolderThatEndHolderDoesNotFindIsNamedByTheServer) {
  for (const std::string resource : {"guarded", "guarded/7"}) {
    Connection old(server()->address());
    ASSERT_EQ(old.Do("BEGIN; SAVEPOINT s"), absl::OkStatus());
    ASSERT_EQ(ShowPass(old.get(), resource, Pass(5)), absl::OkStatus());
    ASSERT_EQ(old.Do("RELEASE s"), absl::OkStatus());
    ASSERT_EQ(b.Do("BEGIN"), absl::OkStatus());
    absl::Status newer;
    std::jthread waits([&] { newer = ShowPass(b.get(), resource, Pass(6)); });
    AwaitThatBWaits();
    EXPECT_EQ(*EndHolder(a.get(), resource, Pass(6)), 0) << resource;
    const std::string holder =
        absl::StrCat("unnest(pg_blocking_pids(", PQbackendPID(b.get()), "))");
    EXPECT_EQ(a.Ask("SELECT " + holder), absl::StrCat(PQbackendPID(old.get()))) << resource;
    a.Ask(absl::StrCat("SELECT pg_terminate_backend(", PQbackendPID(old.get()), ", 30000)"));
    waits.join();
    EXPECT_EQ(newer, absl::OkStatus()) << resource;
    EXPECT_EQ(CommitFenced(b.get()), absl::OkStatus());
  }
}

// An operation that is not harmless twice, tried again until its end is known.
TEST_F(PostgresTest, AnOperationWhoseCommitHadNoAnswerIsDoneOnce) {
  ASSERT_EQ(GuardTable(a.get(), {"", "ledger"}, "ledger"), absl::OkStatus());
  const auto spend = [&](Connection& c, const FencingPass& pass, bool answered) -> absl::Status {
    absl::Status status = c.Do("BEGIN");
    if (status.ok()) status = ShowPass(c.get(), "ledger", pass);
    if (!status.ok()) return status;
    const auto to_do = BeginOperation(c.get(), "ledger", "payment 17");
    if (!to_do.ok()) return to_do.status();
    if (!*to_do) return CommitFenced(c.get());
    status = c.Do("UPDATE ledger SET balance = balance - 5 WHERE id = 7");
    if (!status.ok() || answered) return status.ok() ? CommitFenced(c.get()) : status;
    // The server gets the COMMIT; its answer is never read.
    EXPECT_EQ(PQsendQuery(c.get(), "COMMIT"), 1);
    return absl::UnavailableError("lost");
  };
  auto lost = std::make_unique<Connection>(server()->address());
  EXPECT_EQ(spend(*lost, Pass(5), /*answered=*/false).code(), Code::kUnavailable);
  EXPECT_EQ(spend(b, Pass(5), /*answered=*/true), absl::OkStatus());
  EXPECT_EQ(a.Ask("SELECT balance FROM ledger"), "5");
  EXPECT_EQ(spend(b, Pass(6), /*answered=*/true), absl::OkStatus()) << "the next holder";
  EXPECT_EQ(a.Ask("SELECT balance FROM ledger"), "5");
  EXPECT_EQ(spend(a, Pass(5), /*answered=*/true).code(), Code::kFailedPrecondition);
}

TEST_F(PostgresTest, AnOperationNeedsAPass) {
  EXPECT_EQ(BeginOperation(a.get(), "guarded", "x").status().code(), Code::kInvalidArgument);
  ASSERT_EQ(a.Do("BEGIN"), absl::OkStatus());
  EXPECT_EQ(BeginOperation(a.get(), "guarded", "x").status().code(), Code::kFailedPrecondition);
  ASSERT_EQ(a.Do("ROLLBACK; BEGIN"), absl::OkStatus());
  ASSERT_EQ(ShowPass(a.get(), "guarded", Pass(5)), absl::OkStatus());
  EXPECT_TRUE(*BeginOperation(a.get(), "guarded", "x"));
  ASSERT_EQ(a.Do("ROLLBACK; BEGIN"), absl::OkStatus());
  ASSERT_EQ(ShowPass(a.get(), "guarded", Pass(5)), absl::OkStatus());
  EXPECT_TRUE(*BeginOperation(a.get(), "guarded", "x")) << "it was rolled back";
  EXPECT_EQ(BeginOperation(a.get(), "guarded", "").status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace resources

// SPDX-License-Identifier: Apache-2.0
//
// Claims of PostgreSQL alone: transactions, isolation levels, a trigger for those who forget,
// users.

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include <gmock/gmock.h>

#include "integration/resources/postgres_fixture.h"
#include "zkrecipes/fenced_postgres.h"

namespace resources {
namespace {

using ::testing::HasSubstr;
using zkrecipes::AddFenceColumns;
using zkrecipes::BeginOperation;
using zkrecipes::CommitFenced;
using zkrecipes::EndHolder;
using zkrecipes::FencedOutcome;
using zkrecipes::FencingPass;
using zkrecipes::FencingToken;
using zkrecipes::GuardTable;
using zkrecipes::PostgresRow;
using zkrecipes::PostgresStatus;
using Code = absl::StatusCode;

class Connection {
 public:
  explicit Connection(const std::string& address)
      : connection_(PQconnectdb(address.c_str()), &PQfinish) {
    EXPECT_EQ(PQstatus(get()), CONNECTION_OK) << PQerrorMessage(get());
    // That is for the stale writers: a stall of the machine is no reason to end the test's own.
    EXPECT_EQ(Do("SET idle_in_transaction_session_timeout = 0"), absl::OkStatus());
  }
  PGconn* get() const { return connection_.get(); }
  absl::Status Do(const std::string& sql) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(get(), sql.c_str()),
                                                               &PQclear);
    return PostgresStatus(result.get());
  }
  std::string Ask(const std::string& sql) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(get(), sql.c_str()),
                                                               &PQclear);
    EXPECT_EQ(PostgresStatus(result.get()), absl::OkStatus()) << sql;
    return PQntuples(result.get()) == 1 ? PQgetvalue(result.get(), 0, 0) : "";
  }
  absl::Status Write(const std::string& value, const FencingPass& pass) {
    return UpdateFenced(get(), {{"", "ledger"}, {{"id", "7"}}, {{"note", value}}}, pass);
  }

 private:
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

// Two connections, and the tables `ledger` with columns and `guarded` with the trigger, both new.
class PostgresTest : public OnPostgres {
 protected:
  void SetUp() override {
    ASSERT_EQ(a.Do("DROP TABLE IF EXISTS ledger, guarded;"
                   "DELETE FROM zkrecipes.floors;"
                   "CREATE TABLE ledger (id int PRIMARY KEY, note text, balance int DEFAULT 10);"
                   "INSERT INTO ledger VALUES (7, '');"
                   "CREATE TABLE guarded (id int PRIMARY KEY, note text);"),
              absl::OkStatus());
    ASSERT_EQ(AddFenceColumns(a.get(), {"", "ledger"}), absl::OkStatus());
    ASSERT_EQ(GuardTable(a.get(), {"", "guarded"}, "guarded"), absl::OkStatus());
  }
  absl::Status InTransaction(Connection& c, const FencingPass& pass, const std::string& sql) {
    absl::Status status = c.Do("BEGIN");
    if (status.ok()) status = ShowPass(c.get(), "guarded", pass);
    if (status.ok()) status = c.Do(sql);
    const absl::Status committed = CommitFenced(c.get());
    return status.ok() ? committed : status;
  }
  // Until a's session sees b's wait for a lock.
  void AwaitThatBWaits() {
    const std::string waiting = absl::StrCat(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND pid = ",
        PQbackendPID(b.get()));
    const absl::Time until = absl::Now() + absl::Seconds(30);
    Connection watcher(server()->address());
    while (watcher.Ask(waiting) != "1" && absl::Now() < until) {
      absl::SleepFor(absl::Milliseconds(2));
    }
  }

  // Of a user that owns nothing.
  Connection PlainUser() {
    EXPECT_EQ(
        a.Do("DO $$ BEGIN CREATE ROLE plain LOGIN; EXCEPTION WHEN duplicate_object THEN END $$;"
             "GRANT ALL ON guarded TO plain"),
        absl::OkStatus());
    return Connection(server()->address() + " user=plain");
  }

  Connection a{server()->address()};
  Connection b{server()->address()};
};

// ---- Columns ------------------------------------------------------------------------------------

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

TEST_F(PostgresTest, WhatIsRolledBackHasRaisedNoFloor) {
  ASSERT_EQ(a.Do("BEGIN"), absl::OkStatus());
  ASSERT_EQ(a.Write("never", Pass(9)), absl::OkStatus());
  ASSERT_EQ(a.Do("ROLLBACK"), absl::OkStatus());
  EXPECT_EQ(a.Write("five", Pass(5)), absl::OkStatus());
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
  for (const char* column : {"fence bigint", "fence_shared int NOT NULL", "fence_epoch text"}) {
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

// ---- Trigger ------------------------------------------------------------------------------------

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

TEST_F(PostgresTest, AUserNeedsNoRightToTheFloorsAndCannotForgeAPass) {
  Connection user = PlainUser();
  EXPECT_EQ(InTransaction(user, Pass(5), "INSERT INTO guarded VALUES (1, 'x')"), absl::OkStatus());
  EXPECT_EQ(user.Do("UPDATE zkrecipes.floors SET exclusive = 0").code(), Code::kPermissionDenied);
  ASSERT_EQ(user.Do("BEGIN"), absl::OkStatus());
  user.Ask("SELECT set_config('zkrecipes.shown_in', pg_current_xact_id()::text, true)");
  EXPECT_EQ(user.Do("DELETE FROM guarded").code(), Code::kFailedPrecondition);
}

TEST_F(PostgresTest, OperatorsOfAUsersOwnMakeNoPass) {
  Connection user = PlainUser();
  ASSERT_EQ(a.Do("DROP SCHEMA IF EXISTS own CASCADE; CREATE SCHEMA own AUTHORIZATION plain"),
            absl::OkStatus());
  ASSERT_EQ(
      user.Do("SET search_path = own, pg_catalog, public;"
              "CREATE FUNCTION own.never(text, text) RETURNS boolean LANGUAGE sql AS "
              "'SELECT false';"
              "CREATE FUNCTION own.still(text, text) RETURNS text LANGUAGE sql AS "
              "'SELECT ''mine''::text';"
              "CREATE OPERATOR own.= (FUNCTION = own.never, LEFTARG = text, RIGHTARG = text);"
              "CREATE OPERATOR own.<> (FUNCTION = own.never, LEFTARG = text, RIGHTARG = text);"
              "CREATE OPERATOR own.|| (FUNCTION = own.still, LEFTARG = text, RIGHTARG = text)"),
      absl::OkStatus());
  EXPECT_EQ(user.Do("INSERT INTO guarded VALUES (1, 'x')").code(), Code::kFailedPrecondition);
  ASSERT_EQ(GuardTable(a.get(), {"", "guarded"}, "guarded/", "id"), absl::OkStatus());
  ASSERT_EQ(user.Do("BEGIN"), absl::OkStatus());
  ASSERT_EQ(ShowPass(user.get(), "mine", Pass(5)), absl::OkStatus());
  EXPECT_EQ(user.Do("INSERT INTO guarded VALUES (1, 'x')").code(), Code::kFailedPrecondition);
}

// An owner's search_path has a schema where anybody may create, as `public` was before version 15.
TEST_F(PostgresTest, OperatorsOfAnotherUserAreNotUsedByTheSchemaOrTheColumns) {
  Connection user = PlainUser();
  ASSERT_EQ(a.Do("GRANT CREATE ON SCHEMA public TO plain"), absl::OkStatus());
  std::string operators =
      "CREATE FUNCTION public.never(oid, regrole) RETURNS boolean LANGUAGE sql AS 'SELECT false';"
      "CREATE FUNCTION public.never(oid, regclass) RETURNS boolean LANGUAGE sql AS 'SELECT false';"
      "CREATE FUNCTION public.never(oid, regtype) RETURNS boolean LANGUAGE sql AS 'SELECT false';"
      "CREATE OPERATOR public.<> (FUNCTION = never, LEFTARG = oid, RIGHTARG = regrole);"
      "CREATE OPERATOR public.= (FUNCTION = never, LEFTARG = oid, RIGHTARG = regclass);"
      "CREATE OPERATOR public.= (FUNCTION = never, LEFTARG = oid, RIGHTARG = regtype);";
  ASSERT_EQ(user.Do(operators), absl::OkStatus());
  ASSERT_EQ(a.Do("BEGIN; ALTER SCHEMA zkrecipes OWNER TO plain"), absl::OkStatus());
  EXPECT_EQ(a.Do(zkrecipes::FencingSchema()).code(), Code::kPermissionDenied);
  EXPECT_EQ(a.Do("ROLLBACK"), absl::OkStatus());
  EXPECT_EQ(AddFenceColumns(a.get(), {"", "ledger"}), absl::OkStatus());
  ASSERT_EQ(a.Do("DROP TABLE IF EXISTS other; CREATE TABLE other (fence int)"), absl::OkStatus());
  EXPECT_EQ(AddFenceColumns(a.get(), {"", "other"}).code(), Code::kInvalidArgument);
  EXPECT_EQ(a.Do("DROP TABLE other; DROP FUNCTION never(oid, regrole), never(oid, regclass),"
                 "never(oid, regtype) CASCADE; REVOKE CREATE ON SCHEMA public FROM plain"),
            absl::OkStatus());
}

TEST_F(PostgresTest, EveryFunctionHasASearchPathOfItsOwn) {
  EXPECT_EQ(a.Ask("SELECT count(*) FROM pg_proc WHERE pronamespace = 'zkrecipes'::regnamespace AND "
                  "NOT coalesce(proconfig @> '{\"search_path=pg_catalog, pg_temp\"}', false)"),
            "0");
}

TEST_F(PostgresTest, ASchemaThatAnotherUserHasMadeFirstIsNotUsed) {
  Connection user = PlainUser();
  ASSERT_EQ(a.Do("BEGIN; ALTER SCHEMA zkrecipes OWNER TO plain"), absl::OkStatus());
  EXPECT_EQ(a.Do(zkrecipes::FencingSchema()).code(), Code::kPermissionDenied);
  EXPECT_EQ(a.Do("ROLLBACK"), absl::OkStatus());
}

// A table with two partitions, one of them with one of its own, and a child of the old kind.
class PartitionsTest : public PostgresTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(
        a.Do("DROP TABLE IF EXISTS parts, part_7, part_x, part_y, parent, child CASCADE;"
             "CREATE TABLE parts (id int, note text) PARTITION BY LIST (id);"
             "CREATE TABLE part_7 PARTITION OF parts FOR VALUES IN (7);"
             "CREATE TABLE part_x PARTITION OF parts DEFAULT PARTITION BY LIST (id);"
             "CREATE TABLE part_y PARTITION OF part_x DEFAULT;"
             "CREATE TABLE parent (id int, note text); CREATE TABLE child () INHERITS (parent);"
             "DELETE FROM zkrecipes.floors"),
        absl::OkStatus());
  }
  void ExpectGuarded(const std::string& resource) {
    for (const std::string table : {"parts", "part_7", "part_x", "part_y", "parent", "child"}) {
      const std::string sql = absl::StrCat("INSERT INTO ", table, " VALUES (7, 'x')");
      if (table == "part_x" || table == "part_y") continue;  // 7 is not for them
      EXPECT_EQ(a.Do(sql).code(), Code::kFailedPrecondition) << table;
      ASSERT_EQ(a.Do("BEGIN"), absl::OkStatus());
      ASSERT_EQ(ShowPass(a.get(), resource, Pass(5)), absl::OkStatus());
      EXPECT_EQ(a.Do(sql), absl::OkStatus()) << table;
      ASSERT_EQ(CommitFenced(a.get()), absl::OkStatus());
    }
    for (const std::string table : {"parts", "part_x", "part_y"}) {
      EXPECT_EQ(a.Do(absl::StrCat("INSERT INTO ", table, " VALUES (8, 'x')")).code(),
                Code::kFailedPrecondition)
          << table;
    }
    for (const std::string table : {"parts", "part_7", "parent", "child"}) {
      for (const char* sql : {"UPDATE %s SET note = 'y'", "DELETE FROM %s", "TRUNCATE %s"}) {
        std::string text = sql;
        text.replace(text.find("%s"), 2, table);
        EXPECT_EQ(a.Do(text).code(), Code::kFailedPrecondition) << text;
      }
    }
  }
};

TEST_F(PartitionsTest, AreGuardedWithTheTableByAnyName) {
  for (const std::string table : {"parts", "parent"}) {
    ASSERT_EQ(GuardTable(a.get(), {"", table}, "all"), absl::OkStatus());
  }
  ExpectGuarded("all");
}

TEST_F(PartitionsTest, AreGuardedWithTheTableAlsoByTheirRows) {
  for (const std::string table : {"parts", "parent"}) {
    ASSERT_EQ(GuardTable(a.get(), {"", table}, "row/", "id"), absl::OkStatus());
    ASSERT_EQ(GuardTable(a.get(), {"", table}, "row/", "id"), absl::OkStatus()) << "again";
  }
  ExpectGuarded("row/7");
}

TEST_F(PartitionsTest, OneIsNotGuardedAloneSinceTheTableAboveWritesIt) {
  for (const std::string table : {"part_7", "part_x", "child"}) {
    const absl::Status refused = GuardTable(a.get(), {"", table}, "all");
    EXPECT_EQ(refused.code(), Code::kInvalidArgument) << table << refused;
    EXPECT_THAT(refused.message(), HasSubstr(table + " can also be written as a part of "));
  }
  ASSERT_EQ(a.Do("CREATE TABLE another (id int, note text); ALTER TABLE child INHERIT another"),
            absl::OkStatus());
  EXPECT_EQ(GuardTable(a.get(), {"", "parent"}, "all").code(), Code::kInvalidArgument)
      << "the child has a second parent";
  EXPECT_EQ(
      a.Ask("SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'zkrecipes%' AND tgrelid IN "
            "('part_7'::regclass, 'part_x'::regclass, 'parent'::regclass, 'child'::regclass)"),
      "0");
  EXPECT_EQ(a.Do("DROP TABLE another CASCADE"), absl::OkStatus());
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
  const absl::Duration judging = take("UPDATE guarded SET id = id");
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

TEST_F(PostgresTest, OnlyASuperuserOrTheTablesOwnerSwitchesTheTriggerOff) {
  Connection user = PlainUser();
  for (const char* sql : {"SET session_replication_role = replica",
                          "ALTER TABLE guarded DISABLE TRIGGER zkrecipes_fence",
                          "DROP TRIGGER zkrecipes_fence ON guarded"}) {
    EXPECT_EQ(user.Do(sql).code(), Code::kPermissionDenied) << sql;
  }
  // As the header says, whoever can do this is not fenced.
  ASSERT_EQ(a.Do("SET session_replication_role = replica"), absl::OkStatus());
  EXPECT_EQ(a.Do("INSERT INTO guarded VALUES (1, 'x')"), absl::OkStatus());
}

TEST_F(PostgresTest, WhoMayShowAPassCanBeRestricted) {
  Connection user = PlainUser();
  ASSERT_EQ(a.Do("DO $$ BEGIN CREATE ROLE holders; EXCEPTION WHEN duplicate_object THEN END $$;"
                 "REVOKE EXECUTE ON FUNCTION zkrecipes.show_pass FROM PUBLIC;"
                 "GRANT EXECUTE ON FUNCTION zkrecipes.show_pass TO holders"),
            absl::OkStatus());
  ASSERT_EQ(a.Do(zkrecipes::FencingSchema()), absl::OkStatus()) << "and it stays so";
  EXPECT_EQ(InTransaction(user, Pass(1), "SELECT 1").code(), Code::kPermissionDenied);
  ASSERT_EQ(a.Do("GRANT holders TO plain"), absl::OkStatus());
  EXPECT_EQ(InTransaction(user, Pass(1), "SELECT 1"), absl::OkStatus());
  EXPECT_EQ(a.Do("GRANT EXECUTE ON FUNCTION zkrecipes.show_pass TO PUBLIC"), absl::OkStatus());
}

TEST_F(PostgresTest, AFloorLoadedFromADumpShowsNoPass) {
  ASSERT_EQ(a.Do("BEGIN"), absl::OkStatus());
  ASSERT_EQ(a.Do("UPDATE zkrecipes.floors SET shown_in = pg_current_xact_id()"), absl::OkStatus());
  EXPECT_EQ(a.Do("DELETE FROM guarded").code(), Code::kFailedPrecondition);
}

TEST_F(PostgresTest, TheSchemaMayBeMadeAgain) {
  ASSERT_EQ(InTransaction(a, Pass(6), "SELECT 1"), absl::OkStatus());
  EXPECT_EQ(a.Do(zkrecipes::FencingSchema()), absl::OkStatus());
  EXPECT_EQ(InTransaction(b, Pass(5), "SELECT 1").code(), Code::kFailedPrecondition);
}

TEST_F(PostgresTest, TheSchemaIsMadeByARoleOfAnyName) {
  ASSERT_EQ(a.Do("BEGIN; DROP SCHEMA zkrecipes CASCADE; CREATE ROLE \"My.Role\"; DO $$ BEGIN "
                 "EXECUTE format('GRANT CREATE ON DATABASE %I TO \"My.Role\"', "
                 "current_database()); END $$; SET LOCAL ROLE \"My.Role\""),
            absl::OkStatus());
  EXPECT_EQ(a.Do(zkrecipes::FencingSchema()), absl::OkStatus());
  EXPECT_EQ(a.Do(zkrecipes::FencingSchema()), absl::OkStatus()) << "again";
  EXPECT_EQ(a.Do("ROLLBACK"), absl::OkStatus());
}

// Behind a holder that stands still all resources would wait, if it waited for a table's lock.
TEST_F(PostgresTest, TheSchemaIsMadeAgainWhileAHolderStandsStill) {
  ASSERT_EQ(a.Do("BEGIN"), absl::OkStatus());
  ASSERT_EQ(ShowPass(a.get(), "guarded", Pass(5)), absl::OkStatus());
  ASSERT_EQ(b.Do("SET lock_timeout = '5s'"), absl::OkStatus());
  EXPECT_EQ(b.Do(zkrecipes::FencingSchema()), absl::OkStatus());
  EXPECT_EQ(CommitFenced(a.get()), absl::OkStatus());
}

TEST_F(PostgresTest, TheSchemaOfAnEarlierCommitGetsWhatIsMissing) {
  ASSERT_EQ(a.Do("ALTER TABLE zkrecipes.floors DROP COLUMN operation"), absl::OkStatus());
  ASSERT_EQ(a.Do(zkrecipes::FencingSchema()), absl::OkStatus());
  ASSERT_EQ(a.Do("BEGIN"), absl::OkStatus());
  ASSERT_EQ(ShowPass(a.get(), "guarded", Pass(5)), absl::OkStatus());
  EXPECT_TRUE(*BeginOperation(a.get(), "guarded", "x"));
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
    const FencingPass pass = {
        .token = FencingToken(i / 10 + 1 + static_cast<int64_t>(random() % 9)),
        .mode =
            random() % 2 == 0 ? zkrecipes::GrantMode::kShared : zkrecipes::GrantMode::kExclusive,
        .epoch = i / 200};
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
         {"SELECT epoch || ' ' || exclusive || ' ' || shared FROM zkrecipes.floors",
          "SELECT fence_epoch || ' ' || fence || ' ' || fence_shared FROM ledger"}) {
      ASSERT_EQ(a.Ask(floor),
                absl::StrCat(model.epoch, " ", model.exclusive.value(), " ", model.shared.value()))
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

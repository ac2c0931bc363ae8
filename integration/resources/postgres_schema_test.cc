// SPDX-License-Identifier: Apache-2.0
//
// Claims of the schema: users and their rights, the schema made again, tables with partitions.

#include <string>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "integration/resources/postgres_tables_fixture.h"

namespace resources {
namespace {

using ::testing::HasSubstr;
using zkrecipes::AddFenceColumns;
using zkrecipes::BeginOperation;
using zkrecipes::CommitFenced;
using zkrecipes::EndHolder;
using zkrecipes::FencingPass;
using zkrecipes::GuardTable;
using Code = absl::StatusCode;

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

// As builds made it that knew no turns, with a floor, and with rights of its own.
TEST_F(PostgresTest, TheSchemaFromBeforeTheTurnsIsMadeAgainAndWhoMayShowAPassStaysSo) {
  std::string old = "ALTER TABLE zkrecipes.floors DROP COLUMN turn;";
  for (const char* function : {"refuse_stale", "show_pass", "end_holder"}) {
    absl::StrAppend(&old, "DROP FUNCTION zkrecipes.", function, ";CREATE FUNCTION zkrecipes.",
                    function, "(resource text, epoch bigint, token bigint, reader boolean) ",
                    "RETURNS void LANGUAGE sql AS '';");
  }
  Connection user = PlainUser();
  ASSERT_EQ(InTransaction(a, Pass(6), "SELECT 1"), absl::OkStatus());
  ASSERT_EQ(a.Do(old + "DO $$ BEGIN CREATE ROLE \"My.Holders\"; EXCEPTION WHEN "
                       "duplicate_object THEN END $$;"
                       "REVOKE EXECUTE ON FUNCTION zkrecipes.show_pass FROM PUBLIC;"
                       "GRANT EXECUTE ON FUNCTION zkrecipes.show_pass TO \"My.Holders\" WITH "
                       "GRANT OPTION;"
                       "REVOKE EXECUTE ON FUNCTION zkrecipes.end_holder FROM PUBLIC"),
            absl::OkStatus());
  for (int made = 0; made < 2; ++made) {
    ASSERT_EQ(a.Do(zkrecipes::FencingSchema()), absl::OkStatus());
    EXPECT_EQ(InTransaction(user, Pass(9), "SELECT 1").code(), Code::kPermissionDenied);
  }
  ASSERT_EQ(a.Do("GRANT \"My.Holders\" TO plain"), absl::OkStatus());
  FencingPass turn = Pass(6);
  turn.turn = 2;
  EXPECT_EQ(InTransaction(user, Pass(5), "SELECT 1").code(), Code::kFailedPrecondition);
  EXPECT_EQ(InTransaction(user, Pass(6), "SELECT 1"), absl::OkStatus());
  EXPECT_EQ(InTransaction(user, turn, "SELECT 1"), absl::OkStatus());
  EXPECT_EQ(InTransaction(user, Pass(6), "SELECT 1").code(), Code::kFailedPrecondition);
  EXPECT_EQ(EndHolder(user.get(), "guarded", turn).status().code(), Code::kPermissionDenied);
  EXPECT_EQ(a.Ask("SELECT count(*) FROM pg_proc WHERE proname IN ('refuse_stale', 'show_pass', "
                  "'end_holder') AND pronamespace = 'zkrecipes'::regnamespace"),
            "3");
  EXPECT_EQ(a.Ask("SELECT has_function_privilege('My.Holders', 'zkrecipes.show_pass'::regproc, "
                  "'EXECUTE WITH GRANT OPTION')"),
            "t");
  EXPECT_EQ(a.Do("GRANT EXECUTE ON FUNCTION zkrecipes.show_pass TO PUBLIC"), absl::OkStatus());
}

TEST_F(PostgresTest, TheSchemaRefusesATurnThatIsNone) {
  for (const char* pass : {"0, 5, false, -1", "0, 5, false, NULL", "0, 5, true, 1"}) {
    EXPECT_EQ(a.Do(absl::StrCat("SELECT zkrecipes.show_pass('guarded', ", pass, ")")).code(),
              Code::kInvalidArgument)
        << pass;
  }
}

// ---- Partitions ---------------------------------------------------------------------------------

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

}  // namespace
}  // namespace resources

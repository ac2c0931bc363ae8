// SPDX-License-Identifier: Apache-2.0
//
// fencing_sql.h with libpqxx, on a real PostgreSQL.

#include <functional>
#include <memory>
#include <pqxx/pqxx>
#include <string>

#include <gmock/gmock.h>

#include "integration/resources/postgres_fixture.h"
#include "zkrecipes/fencing/fencing_sql.h"

namespace resources {
namespace {

using zkrecipes::FencingPass;

// What a reply or an exception means.
absl::Status StatusOf(const std::function<void()>& call) {
  try {
    call();
    return absl::OkStatus();
  } catch (const pqxx::sql_error& error) {
    return zkrecipes::SqlStateStatus(error.sqlstate(), error.what());
  } catch (const pqxx::broken_connection& error) {
    return zkrecipes::SqlStateStatus("", error.what());
  }
}

class PqxxTest : public OnPostgres {
 protected:
  void SetUp() override { connection_ = std::make_unique<pqxx::connection>(server()->address()); }
  absl::Status Guarded(const FencingPass& pass) {
    return StatusOf([&] {
      pqxx::work work(*connection_);
      work.exec_params("SELECT zkrecipes.show_pass($1, " + *FencingArguments(pass) + ")",
                       "register");
      work.exec_params(
          "INSERT INTO guarded VALUES (7, $1) ON CONFLICT (id) DO UPDATE SET value = "
          "EXCLUDED.value",
          pass.token.ToString());
      work.commit();
    });
  }
  // Of rows.
  int64_t Columns(const FencingPass& pass) {
    const auto clauses = zkrecipes::FenceClauses(pass);
    pqxx::work work(*connection_);
    const pqxx::result written = work.exec_params(
        "UPDATE columns SET value = $1, " + clauses->set + " WHERE id = 7 AND " + clauses->where,
        pass.token.ToString());
    work.commit();
    return static_cast<int64_t>(written.affected_rows());
  }
  std::string Value(const std::string& table) {
    pqxx::work work(*connection_);
    return work.exec("SELECT value FROM " + table + " WHERE id = 7")[0][0].c_str();
  }

  std::unique_ptr<pqxx::connection> connection_;
};

TEST_F(PqxxTest, ShowsAPassToTheTrigger) {
  EXPECT_EQ(Guarded(Pass(5)), absl::OkStatus());
  EXPECT_EQ(Guarded(Pass(6)), absl::OkStatus());
  const absl::Status stale = Guarded(Pass(5));
  EXPECT_TRUE(absl::IsFailedPrecondition(stale)) << stale;
  EXPECT_EQ(Value("guarded"), "6");
  const absl::Status unshown =
      StatusOf([&] { pqxx::work(*connection_).exec("UPDATE guarded SET value = 'x'"); });
  EXPECT_TRUE(absl::IsFailedPrecondition(unshown)) << unshown;
}

TEST_F(PqxxTest, WritesARowWithColumns) {
  {
    pqxx::work work(*connection_);
    work.exec("INSERT INTO columns (id) VALUES (7) ON CONFLICT DO NOTHING");
    work.commit();
  }
  EXPECT_EQ(Columns(Pass(5)), 1);
  EXPECT_EQ(Columns(Pass(6)), 1);
  EXPECT_EQ(Columns(Pass(5)), 0);
  EXPECT_EQ(Value("columns"), "6");
}

TEST_F(PqxxTest, ALostConnectionIsUnavailable) {
  const absl::Status lost = StatusOf(
      [&] { pqxx::work(*connection_).exec("SELECT pg_terminate_backend(pg_backend_pid())"); });
  EXPECT_TRUE(absl::IsUnavailable(lost)) << lost;
}

}  // namespace
}  // namespace resources

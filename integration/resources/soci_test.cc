// SPDX-License-Identifier: Apache-2.0
//
// fencing_sql.h with SOCI, on a real PostgreSQL.

// Debian's SOCI was built with Boost, which its headers then want for types that are not used here.
#include <soci/soci-config.h>
#undef SOCI_HAVE_BOOST
#include <soci/postgresql/soci-postgresql.h>
#include <soci/soci.h>

#include <functional>
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
  } catch (const soci::postgresql_soci_error& error) {
    return zkrecipes::SqlStateStatus(error.sqlstate(), error.what());
  } catch (const soci::soci_error& error) {
    return zkrecipes::SqlStateStatus("", error.what());
  }
}

class SociTest : public OnPostgres {
 protected:
  void SetUp() override { session_.open(soci::postgresql, server()->address()); }
  absl::Status Guarded(const FencingPass& pass) {
    const std::string resource = "register", value = pass.token.ToString();
    return StatusOf([&] {
      soci::transaction transaction(session_);
      session_ << "SELECT zkrecipes.show_pass(:resource, " << *FencingArguments(pass) << ")",
          soci::use(resource);
      session_ << "INSERT INTO guarded VALUES (7, :value) "
                  "ON CONFLICT (id) DO UPDATE SET value = EXCLUDED.value",
          soci::use(value);
      transaction.commit();
    });
  }
  // Of rows.
  long long Columns(const FencingPass& pass) {  // NOLINT(google-runtime-int): SOCI's
    const auto clauses = zkrecipes::FenceClauses(pass);
    const std::string value = pass.token.ToString();
    soci::statement update =
        (session_.prepare << "UPDATE columns SET value = :value, " << clauses->set
                          << " WHERE id = 7 AND " << clauses->where,
         soci::use(value));
    update.execute(/*withDataExchange=*/true);
    return update.get_affected_rows();
  }
  std::string Value(const std::string& table) {
    std::string value;
    session_ << "SELECT value FROM " << table << " WHERE id = 7", soci::into(value);
    return value;
  }

  soci::session session_;
};

TEST_F(SociTest, ShowsAPassToTheTrigger) {
  EXPECT_EQ(Guarded(Pass(5)), absl::OkStatus());
  EXPECT_EQ(Guarded(Pass(6)), absl::OkStatus());
  const absl::Status stale = Guarded(Pass(5));
  EXPECT_TRUE(absl::IsFailedPrecondition(stale)) << stale;
  EXPECT_EQ(Value("guarded"), "6");
  const absl::Status unshown = StatusOf([&] { session_ << "UPDATE guarded SET value = 'x'"; });
  EXPECT_TRUE(absl::IsFailedPrecondition(unshown)) << unshown;
}

TEST_F(SociTest, WritesARowWithColumns) {
  session_ << "INSERT INTO columns (id) VALUES (7) ON CONFLICT DO NOTHING";
  EXPECT_EQ(Columns(Pass(5)), 1);
  EXPECT_EQ(Columns(Pass(6)), 1);
  EXPECT_EQ(Columns(Pass(5)), 0);
  EXPECT_EQ(Value("columns"), "6");
}

TEST_F(SociTest, ALostConnectionIsUnavailable) {
  EXPECT_TRUE(absl::IsUnavailable(
      StatusOf([&] { session_ << "SELECT pg_terminate_backend(pg_backend_pid())"; })));
  const absl::Status lost = Guarded(Pass(5));
  EXPECT_TRUE(absl::IsUnavailable(lost)) << lost;
}

}  // namespace
}  // namespace resources

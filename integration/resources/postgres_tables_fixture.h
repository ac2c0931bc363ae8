// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_RESOURCES_POSTGRES_TABLES_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_RESOURCES_POSTGRES_TABLES_FIXTURE_H_

#include <libpq-fe.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "integration/resources/postgres_fixture.h"
#include "zkrecipes/fencing/fenced_postgres.h"

namespace resources {

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
    return zkrecipes::PostgresStatus(result.get());
  }
  std::string Ask(const std::string& sql) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(get(), sql.c_str()),
                                                               &PQclear);
    EXPECT_EQ(zkrecipes::PostgresStatus(result.get()), absl::OkStatus()) << sql;
    return PQntuples(result.get()) == 1 ? PQgetvalue(result.get(), 0, 0) : "";
  }
  absl::Status Write(const std::string& value, const zkrecipes::FencingPass& pass) {
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
    ASSERT_EQ(zkrecipes::AddFenceColumns(a.get(), {"", "ledger"}), absl::OkStatus());
    ASSERT_EQ(zkrecipes::GuardTable(a.get(), {"", "guarded"}, "guarded"), absl::OkStatus());
  }
  absl::Status InTransaction(Connection& c, const zkrecipes::FencingPass& pass,
                             const std::string& sql) {
    absl::Status status = c.Do("BEGIN");
    if (status.ok()) status = ShowPass(c.get(), "guarded", pass);
    if (status.ok()) status = c.Do(sql);
    const absl::Status committed = zkrecipes::CommitFenced(c.get());
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

}  // namespace resources

#endif  // ZKRECIPES_INTEGRATION_RESOURCES_POSTGRES_TABLES_FIXTURE_H_

// SPDX-License-Identifier: Apache-2.0
//
// The scheduler of examples/ on real servers and a real PostgreSQL.

#include <httplib.h>
#include <libpq-fe.h>
#include <signal.h>

#include <memory>
#include <string>

#include "absl/time/clock.h"
#include <gmock/gmock.h>

#include "integration/packaging/examples_fixture.h"
#include "integration/resources/kinds.h"
#include "zkrecipes/fencing/fenced_postgres.h"

namespace zkrecipes::integration {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using testing::Program;

// Two jobs, a new set of tables for each test.
class SchedulerExampleTest : public ExamplesTest {
 protected:
  static void SetUpTestSuite() {
    auto started = resources::StartPostgres(/*durable=*/false);
    ASSERT_TRUE(started.ok()) << started.status();
    postgres() = *std::move(started);
  }
  static void TearDownTestSuite() { postgres().reset(); }

  void SetUp() override {
    ExamplesTest::SetUp();
    database_.reset(PQconnectdb(postgres()->address().c_str()));
    ASSERT_EQ(Do("DROP TABLE IF EXISTS jobs, runs; DROP SCHEMA IF EXISTS zkrecipes CASCADE"),
              absl::OkStatus());
    ASSERT_EQ(Start("scheduler", {"--create", postgres()->address()})->Wait(), 0);
    ASSERT_EQ(Do("INSERT INTO jobs VALUES ('report', '300 ms'), ('backup', '500 ms')"),
              absl::OkStatus());
  }
  void TearDown() override {
    if (HasFatalFailure()) return;
    // In the order of commits no run is of an earlier term than the one before, and no job has run
    // twice in its interval.
    EXPECT_EQ(Ask("SELECT count(*) FROM runs a JOIN runs b ON a.id < b.id AND a.term > b.term"),
              "0");
    EXPECT_EQ(Ask("SELECT count(*) FROM jobs JOIN (SELECT job, at - lag(at) OVER "
                  "(PARTITION BY job ORDER BY at) AS gap FROM runs) r ON name = job "
                  "WHERE gap < every"),
              "0");
  }

  std::unique_ptr<Program> Replica(const std::string& name) {
    return Start("scheduler", {name, "0", postgres()->address()});
  }
  bool Runs(const std::string& replica) {
    const std::string query = "SELECT count(*) FROM runs WHERE replica = '" + replica + "'";
    const std::string before = Ask(query);
    return Eventually([&] { return Ask(query) != before; });
  }
  absl::Status Do(const std::string& sql) {
    const Result result(PQexec(database_.get(), sql.c_str()), &PQclear);
    return PostgresStatus(result.get());
  }
  std::string Ask(const std::string& sql) {
    const Result result(PQexec(database_.get(), sql.c_str()), &PQclear);
    EXPECT_EQ(PostgresStatus(result.get()), absl::OkStatus()) << sql;
    return PQntuples(result.get()) == 1 ? PQgetvalue(result.get(), 0, 0) : "";
  }
  // A run that is written as by a leader of this term.
  absl::Status RunIn(int64_t term) {
    absl::Status status = Do("BEGIN");
    if (status.ok()) {
      status = ShowPass(database_.get(), "scheduler", {.token = FencingToken(term)});
    }
    if (status.ok()) status = AddRun(term);
    EXPECT_EQ(Do("ROLLBACK"), absl::OkStatus());
    return status;
  }
  absl::Status AddRun(int64_t term) {
    return Do("INSERT INTO runs (job, replica, term) VALUES ('report', 'stale', " +
              std::to_string(term) + ")");
  }
  static std::string Metrics(const Program& replica) {
    const auto port = NumberBehind(replica, "metrics at 127.0.0.1:");
    const auto answer = httplib::Client("127.0.0.1", static_cast<int>(port)).Get("/metrics");
    return answer ? answer->body : "";
  }

 private:
  using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;
  static std::unique_ptr<resources::Server>& postgres() {
    static std::unique_ptr<resources::Server> postgres;
    return postgres;
  }
  std::unique_ptr<PGconn, decltype(&PQfinish)> database_{nullptr, &PQfinish};
};

TEST_F(SchedulerExampleTest, HandsOverWhenItIsTerminated) {
  auto first = Replica("a");
  ASSERT_TRUE(Runs("a"));
  auto second = Replica("b");
  ASSERT_TRUE(Eventually([&] { return !Metrics(*second).empty(); }));
  first->Signal(SIGTERM);
  EXPECT_EQ(first->Wait(), 0) << first->Err();
  EXPECT_THAT(first->Out(), ContainsRegex("handing over\n$"));
  ASSERT_TRUE(Runs("b"));
  EXPECT_GT(NumberBehind(*second, "in term "), NumberBehind(*first, "in term "));
  EXPECT_THAT(Metrics(*second), HasSubstr("zkrecipes_leases_held{group=\"/examples\"} 1"));
  second->Signal(SIGINT);
  EXPECT_EQ(second->Wait(), 0) << second->Err();
}

TEST_F(SchedulerExampleTest, IsReplacedWhenItIsKilledAndNoWriteOfItsTermIsAdmittedThen) {
  auto first = Replica("a");
  ASSERT_TRUE(Runs("a"));
  auto second = Replica("b");
  first->Signal(SIGKILL);
  ASSERT_TRUE(Runs("b"));
  const int64_t stale = NumberBehind(*first, "in term ");
  EXPECT_TRUE(absl::IsFailedPrecondition(RunIn(stale))) << RunIn(stale);
  EXPECT_TRUE(absl::IsFailedPrecondition(AddRun(stale))) << "without a pass";
  EXPECT_EQ(RunIn(NumberBehind(*second, "in term ")), absl::OkStatus());
}

// Of a leader that is frozen for longer than its session lasts, at a random point of its work.
TEST_F(SchedulerExampleTest, QueuesAgainAfterItWasFrozen) {
  auto first = Replica("a");
  ASSERT_TRUE(Runs("a"));
  auto second = Replica("b");
  first->Signal(SIGSTOP);
  ASSERT_TRUE(Runs("b"));
  first->Signal(SIGCONT);
  ASSERT_TRUE(Runs("b"));
  second->Signal(SIGTERM);
  EXPECT_EQ(second->Wait(), 0);
  EXPECT_TRUE(Runs("a"));
}

TEST_F(SchedulerExampleTest, ResignsWhileTheDatabaseRefusesItAndGoesOnAfterThat) {
  auto replica = Replica("a");
  ASSERT_TRUE(Runs("a"));
  ASSERT_EQ(Do("ALTER TABLE runs RENAME TO elsewhere"), absl::OkStatus());
  EXPECT_TRUE(Says(*replica, "resigning: INVALID_ARGUMENT"));
  ASSERT_EQ(Do("ALTER TABLE elsewhere RENAME TO runs"), absl::OkStatus());
  EXPECT_TRUE(Runs("a"));
}

}  // namespace
}  // namespace zkrecipes::integration

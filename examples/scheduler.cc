// SPDX-License-Identifier: Apache-2.0
//
// A scheduler: of any number of replicas one runs the jobs that are due, each once in its interval.
// The runs are rows that PostgreSQL accepts from the newest leader only.
//
//   scheduler --create DATABASE              once, as the user who is to own the tables
//   scheduler NAME PORT DATABASE [SERVERS]   a replica, as another user (an owner can disable a
//                                            trigger); metrics at 127.0.0.1:PORT, 0: a free one
//
// DATABASE is as libpq takes it, "host=db1 dbname=jobs"; SERVERS or ZKR_SERVERS "127.0.0.1:2181".
// A job: INSERT INTO jobs VALUES ('report', '1 hour').

#include "scheduler.h"

#include <libpq-fe.h>
#include <prometheus/exposer.h>
#include <prometheus/registry.h>
#include <signal.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <thread>

#include "zkrecipes/fencing/fenced_postgres.h"
#include "zkrecipes/prometheus_metrics.h"

namespace {

constexpr char kResource[] = "scheduler";  // the fence's name, one for all that the leader writes

class Database {
 public:
  explicit Database(std::string address) : address_(std::move(address)) {}

  // The trigger demands a pass for each write of `runs`; anyone may add a job.
  absl::Status Create() {
    absl::Status status = Connect();
    if (status.ok()) status = Do(zkrecipes::FencingSchema());
    if (status.ok()) {
      status =
          Do("CREATE TABLE jobs (name text PRIMARY KEY, every interval NOT NULL);"
             "CREATE TABLE runs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
             "  job text NOT NULL, at timestamptz NOT NULL DEFAULT now(),"
             "  replica text NOT NULL, term bigint NOT NULL);"
             "CREATE INDEX ON runs (job, at)");
    }
    if (status.ok()) status = zkrecipes::GuardTable(get(), {"", "runs"}, kResource);
    return status;
  }

  // One transaction. Put a job's writes to this database here: each is then done exactly once. Its
  // effects elsewhere need the pass there, and must be harmless if they happen twice.
  absl::Status RunDueJobs(const std::string& replica, const zkrecipes::FencingPass& pass) {
    absl::Status status = Connect();
    if (status.ok()) status = Do("BEGIN");
    // The former leader's transaction ends before this returns, and it can begin no other one.
    if (status.ok()) status = zkrecipes::ShowPass(get(), kResource, pass);
    if (status.ok()) {
      const std::string term = pass.token.ToString();
      const std::array<const char*, 2> values = {replica.c_str(), term.c_str()};
      status = Outcome(PQexecParams(
          get(),
          "INSERT INTO runs (job, replica, term) SELECT name, $1, $2::bigint FROM jobs"
          " WHERE NOT EXISTS (SELECT FROM runs WHERE job = name AND at > now() - every)",
          2, nullptr, values.data(), nullptr, nullptr, 0));
    }
    // If the answer to COMMIT is lost, the next look at `runs` shows whether it was done.
    if (status.ok()) status = zkrecipes::CommitFenced(get());
    if (!status.ok()) connection_.reset();  // and with it the rest of the transaction
    return status;
  }

 private:
  PGconn* get() const { return connection_.get(); }
  static absl::Status Outcome(PGresult* result) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> owned(result, &PQclear);
    return zkrecipes::PostgresStatus(result);
  }
  absl::Status Do(const std::string& sql) const { return Outcome(PQexec(get(), sql.c_str())); }

  absl::Status Connect() {
    if (connection_ != nullptr) return absl::OkStatus();
    connection_.reset(PQconnectdb(address_.c_str()));
    if (PQstatus(get()) != CONNECTION_OK) {
      const absl::Status failed = absl::UnavailableError(PQerrorMessage(get()));
      connection_.reset();
      return failed;
    }
    // A replica that stands still inside its transaction keeps the next one out for 5 s at most,
    // and no statement delays a hand-over for longer.
    return Do("SET idle_in_transaction_session_timeout = '5s'; SET statement_timeout = '5s'");
  }

  const std::string address_;
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_{nullptr, &PQfinish};
};

int Report(const absl::Status& status) {
  if (!status.ok()) std::cerr << status << std::endl;
  return status.ok() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 3 && argv[1] == std::string("--create")) return Report(Database(argv[2]).Create());
  const char* servers = argc > 4 ? argv[4] : std::getenv("ZKR_SERVERS");
  if (argc < 4 || servers == nullptr) {
    std::cerr << "usage: scheduler --create DATABASE | scheduler NAME PORT DATABASE SERVERS\n";
    return 2;
  }
  // Blocked before there is a second thread, so that only sigwait takes the signals.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::stop_source stop;
  std::thread([signals, stop]() mutable {
    int signal = 0;
    sigwait(&signals, &signal);
    stop.request_stop();  // what is under way is finished; SIGKILL would cost a session timeout
  }).detach();

  prometheus::Exposer exposer("127.0.0.1:" + std::string(argv[2]));
  auto registry = std::make_shared<prometheus::Registry>();
  exposer.RegisterCollectable(registry);
  std::cout << "metrics at 127.0.0.1:" << exposer.GetListeningPorts().front() << std::endl;
  auto metrics = std::make_shared<zkrecipes::PrometheusMetrics>(registry);

  // Create, not Connect: a replica that is up before its ensemble waits for it.
  auto client =
      zkrecipes::Client::Create({.servers = servers,
                                 .session_timeout = absl::Seconds(4),  // until a crash is noticed
                                 .listener = metrics,
                                 .on_session_report = metrics->SessionReports()});
  if (!client.ok()) return Report(client.status());
  const auto states = metrics->Follow(**client);
  Database database(argv[3]);
  const Scheduler scheduler(
      *client, argv[1], absl::Milliseconds(100),
      [&](const zkrecipes::FencingPass& pass) { return database.RunDueJobs(argv[1], pass); });
  return Report(scheduler.Run(stop.get_token()));
} catch (const std::exception& e) {  // of prometheus-cpp's, if the port is taken
  return Report(absl::UnavailableError(e.what()));
}

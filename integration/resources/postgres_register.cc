// SPDX-License-Identifier: Apache-2.0

#include <libpq-fe.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"

#include "integration/resources/kinds.h"
#include "integration/resources/private_server.h"
#include "zkrecipes/fencing/fenced_postgres.h"

namespace resources {
namespace {

using Connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;
using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

// Where Debian has initdb and postgres: of the newest version that is installed.
std::string ProgramsFolder() {
  std::string newest;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
    newest = std::max(newest, entry.path().string() + "/bin/");
  }
  return newest;
}

absl::Status Exec(PGconn* connection, const std::string& sql) {
  const Result result(PQexec(connection, sql.c_str()), &PQclear);
  return zkrecipes::PostgresStatus(result.get());
}

absl::StatusOr<Connection> Open(const std::string& address) {
  Connection connection(PQconnectdb(address.c_str()), &PQfinish);
  if (PQstatus(connection.get()) == CONNECTION_OK) return connection;
  return absl::UnavailableError(PQerrorMessage(connection.get()));
}

class PostgresServer final : public Server {
 public:
  PostgresServer(std::unique_ptr<PrivateServer> process, bool durable)
      : process_(std::move(process)), durable_(durable) {}
  ~PostgresServer() override { process_->End(SIGINT); }  // else a segment of shared memory stays

  std::string address() const override {
    return absl::StrCat("host=", process_->directory(),
                        " user=zkr dbname=postgres connect_timeout=10 "
                        "options='-c client_min_messages=warning "
                        // Of a writer that stands still in its transaction.
                        "-c idle_in_transaction_session_timeout=1000'");
  }
  absl::Status Initialize() {
    return process_->Run({ProgramsFolder() + "initdb", "-D", Data(), "-U", "zkr", "--auth=trust",
                          "--encoding=UTF8", "--no-locale", "--no-sync"});
  }
  absl::Status Start() {
    return process_->Start(
        {ProgramsFolder() + "postgres", "-D", Data(), "-k", process_->directory(), "-c",
         "listen_addresses=", "-c", absl::StrCat("fsync=", durable_ ? "on" : "off"), "-c",
         "max_prepared_transactions=2", "-c",
         absl::StrCat("synchronous_commit=", durable_ ? "on" : "off")},
        [this] { return PQping(address().c_str()) == PQPING_OK; });
  }
  absl::Status MakeTables() {
    const absl::StatusOr<Connection> connection = Open(address());
    if (!connection.ok()) return connection.status();
    PGconn* const c = connection->get();
    absl::Status status = Exec(c,
                               "CREATE TABLE columns (id int PRIMARY KEY, value text);"
                               "CREATE TABLE guarded (id int PRIMARY KEY, value text);");
    if (status.ok()) status = zkrecipes::AddFenceColumns(c, {"", "columns"});
    if (status.ok()) status = Exec(c, zkrecipes::FencingSchema());
    if (status.ok()) status = zkrecipes::GuardTable(c, {"", "guarded"}, "register");
    return status;
  }
  absl::Status Restart() override {
    if (!durable_) return Server::Restart();
    process_->End(SIGQUIT);  // "immediate": without a checkpoint, as after a crash
    return Start();
  }

 private:
  std::string Data() const { return process_->directory() + "/data"; }

  const std::unique_ptr<PrivateServer> process_;
  const bool durable_;
};

std::string Upsert(const std::string& table) {
  return "INSERT INTO " + table +
         " (id, value) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET value = EXCLUDED.value";
}

class PostgresRegister : public Register {
 public:
  PostgresRegister(Connection connection, std::string table)
      : connection_(std::move(connection)), table_(std::move(table)) {}

  absl::StatusOr<std::string> Read() override {
    const Result result(
        PQexec(connection(), ("SELECT value FROM " + table_ + " WHERE id = 1").c_str()), &PQclear);
    if (absl::Status status = zkrecipes::PostgresStatus(result.get()); !status.ok()) return status;
    return std::string(PQntuples(result.get()) == 0 ? "" : PQgetvalue(result.get(), 0, 0));
  }

 protected:
  PGconn* connection() { return connection_.get(); }
  absl::Status Put(PGconn* connection, const std::string& value) {
    const char* const values[] = {value.c_str()};
    const Result result(
        PQexecParams(connection, Upsert(table_).c_str(), 1, nullptr, values, nullptr, nullptr, 0),
        &PQclear);
    return zkrecipes::PostgresStatus(result.get());
  }

 private:
  const Connection connection_;
  const std::string table_;
};

class ColumnsRegister final : public PostgresRegister {
 public:
  ColumnsRegister(Connection connection, const std::string& /*address*/)
      : PostgresRegister(std::move(connection), "columns") {}

  absl::Status Write(const Holder& holder, const std::string& value) override {
    return zkrecipes::UpsertFenced(
        connection(), {{"", "columns"}, {{"id", "1"}}, {{"value", value}}}, holder.pass);
  }
  absl::Status WriteUnchecked(const std::string& value) override {
    return Put(connection(), value);
  }
};

class TriggerRegister final : public PostgresRegister {
 public:
  TriggerRegister(Connection connection, std::string address)
      : PostgresRegister(std::move(connection), "guarded"), address_(std::move(address)) {}

  absl::Status Write(const Holder& holder, const std::string& value) override {
    return InTransaction(connection(), value, [&] {
      return zkrecipes::ShowPass(connection(), "register", holder.pass);
    });
  }
  // The same transaction, on a connection that has no triggers.
  absl::Status WriteUnchecked(const std::string& value) override {
    if (unchecked_ == nullptr) {
      absl::StatusOr<Connection> opened = Open(address_);
      if (!opened.ok()) return opened.status();
      unchecked_ = *std::move(opened);
      absl::Status status = Exec(unchecked_.get(), "SET session_replication_role = replica");
      if (!status.ok()) return status;
    }
    return InTransaction(unchecked_.get(), value, [] { return absl::OkStatus(); });
  }

 private:
  absl::Status InTransaction(PGconn* connection, const std::string& value,
                             absl::FunctionRef<absl::Status()> before) {
    absl::Status status = Exec(connection, "BEGIN");
    if (status.ok()) status = before();
    if (status.ok()) status = Put(connection, value);
    if (status.ok()) return zkrecipes::CommitFenced(connection);
    (void)Exec(connection, "ROLLBACK");
    return status;
  }

  const std::string address_;
  Connection unchecked_{nullptr, &PQfinish};
};

template <typename Kept>
absl::StatusOr<std::unique_ptr<Register>> ConnectPostgres(const std::string& address) {
  absl::StatusOr<Connection> connection = Open(address);
  if (!connection.ok()) return connection.status();
  return std::make_unique<Kept>(*std::move(connection), address);
}

absl::StatusOr<std::unique_ptr<Server>> StartDurable() { return StartPostgres(/*durable=*/true); }

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> StartPostgres(bool durable) {
  auto process = PrivateServer::Make("postgres");  // who must not be root
  if (!process.ok()) return process.status();
  auto server = std::make_unique<PostgresServer>(*std::move(process), durable);
  absl::Status status = server->Initialize();
  if (status.ok()) status = server->Start();
  if (status.ok()) status = server->MakeTables();
  if (!status.ok()) return status;
  return server;
}

Kind PostgresColumns() {
  return {"postgres_columns", &StartDurable, &ConnectPostgres<ColumnsRegister>};
}
Kind PostgresTrigger() {
  return {"postgres_trigger", &StartDurable, &ConnectPostgres<TriggerRegister>};
}

}  // namespace resources

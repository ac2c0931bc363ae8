// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_FENCED_POSTGRES_H_
#define ZKRECIPES_FENCED_POSTGRES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "zkrecipes/fencing_floor.h"

struct pg_conn;    // libpq's PGconn
struct pg_result;  // libpq's PGresult

namespace [[gnu::visibility("default")]] zkrecipes {

// Fencing in PostgreSQL 14 or later, over the caller's own libpq connections (link
// zkrecipes::postgres). The floor changes in one transaction with the data: a rollback also takes
// back the raised floor. There are two forms:
//
// Columns: each guarded row has its floor beside its data, and each statement checks it. This costs
// next to nothing, and protects from writers that use it. A deleted row loses its floor: mark rows
// as deleted instead.
//
//   AddFenceColumns(connection, {"", "ledger"});
//   UpdateFenced(connection, {{"", "ledger"}, {{"id", "7"}}, {{"balance", "12"}}}, pass);
//
// Trigger: the schema `zkrecipes` has a table of floors, and a guarded table accepts writes only in
// a transaction that has shown a pass. This refuses every stale writer, also one that shows no
// pass. Other transactions of the resource wait from ShowPass to the end of this transaction: set
// idle_in_transaction_session_timeout, in case its process stands still.
//
//   PQexec(connection, FencingSchema().c_str());
//   GuardTable(connection, {"", "ledger"}, "ledger");
//   ... BEGIN, ShowPass(connection, "ledger", pass), any statements, CommitFenced(connection)
//
// The trigger refuses every kind of write, including COPY, MERGE, TRUNCATE and the cascades of
// another table's foreign keys. It does not fence superusers (who can also set
// session_replication_role) and the table's owner, who can disable it, nor logical replication,
// whose changes were fenced where they were made. After PREPARE TRANSACTION later holders wait
// until it is committed or rolled back. A user who may show a pass can shut all others out by a
// huge token. At first every user may; to restrict it:
//   REVOKE EXECUTE ON FUNCTION zkrecipes.show_pass FROM PUBLIC; GRANT EXECUTE ... TO holders
//
// At READ COMMITTED a statement that has waited for another transaction is judged by the floor that
// this transaction left; at REPEATABLE READ and SERIALIZABLE it fails (Aborted). Standbys lag, but
// refuse writes.
//
// Each call blocks for the server and runs inside the caller's transaction, if there is one. The
// library keeps nothing between calls; only one thread at a time may use a connection.
//
// Errors of each call, and of the caller's own statements as PostgresStatus gives them:
//   FailedPrecondition  stale: the message names the floor. Or no pass was shown (the trigger)
//   Aborted             another transaction was in the way (a serialization failure, a deadlock),
//                       or this one has failed before: roll back, and it may be tried again
//   Unavailable         the connection is lost, or the server cannot serve: it shuts down, is full,
//                       or is a standby. After a lost connection it is not known whether a COMMIT,
//                       or a statement outside a transaction, was done: try it again with the same
//                       pass
//   InvalidArgument     the pass has no token; a name or key is missing; the server refuses the
//                       statement: its message
//   PermissionDenied    to this user
struct PostgresTable {
  std::string schema = {};  // empty: found by search_path
  std::string name = {};
};

// ---- Columns -----------------------------------------------------------------------------------

struct PostgresValue {
  std::string column = {};
  std::optional<std::string> text = {};  // as PostgreSQL reads the column's type; nullopt is NULL
};

// A row by its key, and the values to write there.
struct PostgresRow {
  PostgresTable table = {};
  std::vector<PostgresValue> key = {};
  std::vector<PostgresValue> set = {};
};

// Adds the columns fence_epoch, fence and fence_shared, all bigint, if they are missing: see
// FencingFloor.
absl::Status AddFenceColumns(pg_conn* connection, const PostgresTable& table);

// Writes to one row. NotFound if there is no such row.
absl::Status UpdateFenced(pg_conn* connection, const PostgresRow& row, const FencingPass& pass);
// Writes to one row, or inserts it if there is none. The key needs a unique index.
absl::Status UpsertFenced(pg_conn* connection, const PostgresRow& row, const FencingPass& pass);

// For an UPDATE statement of the caller's: text without parameters.
//   "UPDATE ledger SET balance = balance - 5, " + clauses.set +
//       " WHERE id = 7 AND " + clauses.where
struct FencedClauses {
  std::string set = {};
  std::string where = {};
};
// `alias`: of the table in the statement, if another table there has columns of these names.
absl::StatusOr<FencedClauses> FenceClauses(const FencingPass& pass, const std::string& alias = {});
// FailedPrecondition also if the statement found no row: its WHERE does not show which condition
// failed.
absl::Status FencedOutcome(const pg_result* result);

// ---- Trigger -----------------------------------------------------------------------------------

// SQL that creates the schema `zkrecipes`, and may run again. The user who runs it owns the floors.
// Other users write them only through `zkrecipes.show_pass(resource, epoch, token, reader)`, by
// which a program in another language shows a pass, too.
std::string FencingSchema();

// From now on, writes to the table demand a pass for `resource`. With a key column, each row is a
// resource of its own, named `resource` followed by the column's text, such as "accounts/" and "7";
// TRUNCATE demands a pass for `resource` itself. A partition is a table: guard it, too.
absl::Status GuardTable(pg_conn* connection, const PostgresTable& table,
                        const std::string& resource, const std::string& key_column = {});

// InvalidArgument also outside a transaction: the pass would end with the call.
absl::Status ShowPass(pg_conn* connection, const std::string& resource, const FencingPass& pass);

// COMMIT. Aborted if the server rolled back instead, as it does after a failed statement, though
// PostgreSQL calls that a success.
absl::Status CommitFenced(pg_conn* connection);

// OK if the statement was done. A null result is that of a lost connection.
absl::Status PostgresStatus(const pg_result* result);

}  // namespace zkrecipes

#endif  // ZKRECIPES_FENCED_POSTGRES_H_

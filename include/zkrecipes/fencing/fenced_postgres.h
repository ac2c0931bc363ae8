// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_FENCING_FENCED_POSTGRES_H_
#define ZKRECIPES_FENCING_FENCED_POSTGRES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "zkrecipes/fencing/fencing_floor.h"
#include "zkrecipes/fencing/fencing_sql.h"

struct pg_conn;    // libpq's PGconn
struct pg_result;  // libpq's PGresult

namespace [[gnu::visibility("default")]] zkrecipes {

// Fencing in PostgreSQL 14 or later, over the caller's own libpq connections (link
// zkrecipes::postgres). The floor changes in one transaction with the data: a rollback also takes
// back the raised floor. There are two forms:
//
// Trigger: the schema `zkrecipes` has a table of floors, and a guarded table accepts writes only in
// a transaction that has shown a pass. This refuses every stale writer, also one that shows no
// pass, and one that only inserts.
//
//   PQexec(connection, FencingSchema().c_str());
//   GuardTable(connection, {"", "ledger"}, "ledger");
//   ... BEGIN, ShowPass(connection, "ledger", pass), any statements, CommitFenced(connection)
//
// Columns: each guarded row has its floor beside its data, and each statement checks it. This costs
// next to nothing. It fences only changes of rows that are there, by writers that use it: a row
// that is inserted has no floor yet, so what is only appended, such as results or events, is not
// fenced at all. A deleted row loses its floor: mark rows as deleted instead. A lock that is over a
// whole table needs one floor for it: a row of its own, updated in each transaction, or the
// trigger.
//
//   AddFenceColumns(connection, {"", "ledger"});
//   UpdateFenced(connection, {{"", "ledger"}, {{"id", "7"}}, {{"balance", "12"}}}, pass);
//
// The trigger refuses every kind of write, including COPY, MERGE, TRUNCATE and the cascades of
// another table's foreign keys. It does not fence superusers (who can also set
// session_replication_role) and the table's owner, who can disable it, nor logical replication,
// whose changes were fenced where they were made. After PREPARE TRANSACTION later holders wait
// until it is committed or rolled back. A user who may show a pass can shut all others out by a
// huge token. At first every user may; to restrict it:
//   REVOKE EXECUTE ON FUNCTION zkrecipes.show_pass FROM PUBLIC; GRANT EXECUTE ... TO holders
//
// Other transactions of the resource wait from ShowPass to the end of this transaction. If its
// process stands still, idle_in_transaction_session_timeout ends it between two statements, but no
// timeout of the server does so inside one: in a COPY, or while a large result is not read, newer
// holders wait without limit (lock_timeout makes ShowPass give up: Unavailable). EndHolder ends it.
//
// At READ COMMITTED a statement that has waited for another transaction is judged by the floor that
// this transaction left; at REPEATABLE READ and SERIALIZABLE it fails (Aborted). Standbys lag, but
// refuse writes.
//
// A failover or a crash that loses committed transactions loses their floors, too, and then admits
// a holder that the lost floor would have refused: with asynchronous standbys, if one is
// promoted that had not got the last transactions; with synchronous ones, after a COMMIT that did
// not wait for them (synchronous_commit, or a wait that was cancelled); with synchronous_commit=off
// in any crash. If that is not acceptable, use synchronous replication.
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
//                       or a statement outside a transaction, was done. Try it again with the same
//                       pass only if doing it twice is harmless (`balance = 12`, not `balance =
//                       balance - 5`), or with BeginOperation, which finds out
//   InvalidArgument     the pass has no token, or a turn that is none; a name or key is missing, or
//                       a text has a NUL in it; a key names several rows; a call that needs a
//                       transaction is outside of one; a COPY is not at its end; the server refuses
//                       the statement: its message
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

// Adds the columns fence_epoch, fence, fence_shared and fence_turn, all bigint NOT NULL, if they
// are missing: see FencingFloor, and FenceClauses of a pass with a turn. InvalidArgument: one is
// there and is not bigint NOT NULL; nothing is added.
absl::Status AddFenceColumns(pg_conn* connection, const PostgresTable& table);

// Writes to one row. NotFound if there is no such row; InvalidArgument if there are several.
absl::Status UpdateFenced(pg_conn* connection, const PostgresRow& row, const FencingPass& pass);
// Writes to one row, or inserts it if there is none: then any pass is admitted, since there is no
// floor. The key needs a unique index.
absl::Status UpsertFenced(pg_conn* connection, const PostgresRow& row, const FencingPass& pass);

// Of an UPDATE of the caller's with FenceClauses (fencing_sql.h).
// FailedPrecondition also if the statement found no row: its WHERE does not show which condition
// failed. OK if at least one row was written: of several that the WHERE names, others may have been
// refused. Compare PQcmdTuples with their number, and roll back, or use the trigger.
absl::Status FencedOutcome(const pg_result* result);

// ---- Trigger -----------------------------------------------------------------------------------

// FencingSchema, which makes it, is in fencing_sql.h.

// From now on, writes to the table demand a pass for `resource`. With a key column, each row is a
// resource of its own, named `resource` followed by the column's text, such as "accounts/" and "7";
// that text is to_jsonb(column) #>> '{}' where TimeZone is UTC, DateStyle ISO, IntervalStyle
// postgres, bytea_output hex, extra_float_digits 1 and lc_monetary C, whatever the session has set.
// TRUNCATE demands a pass for `resource` itself. Partitions and children are guarded with it; guard
// it again after one was added. InvalidArgument: the table is itself a partition or a child, which
// can be written by the name of the table above: guard that.
absl::Status GuardTable(pg_conn* connection, const PostgresTable& table,
                        const std::string& resource, const std::string& key_column = {});

// InvalidArgument also outside a transaction: the pass would end with the call.
absl::Status ShowPass(pg_conn* connection, const std::string& resource, const FencingPass& pass);

// Whether this operation is to be done: false if it was the last one that was committed for this
// resource, so that its COMMIT has come through, though the answer was lost. Call it after ShowPass
// in the same transaction, with a name that is the same in each try and unlike all others, and
// commit in any case. Of an exclusive holder: readers of one resource overwrite each other's names.
// FailedPrecondition: no pass was shown for the resource.
absl::StatusOr<bool> BeginOperation(pg_conn* connection, const std::string& resource,
                                    const std::string& operation);

// Ends the connection of the transaction that has shown a pass for this resource and is not at its
// end (pg_terminate_backend), so that it is rolled back. Returns how many it ended: 0 if there is
// none, and also for a transaction that it does not find:
//   - one that is prepared (two-phase), or has shown its pass inside a savepoint that it released;
//   - the first of a resource that is a row, or whose table has another owner than the schema.
// While ShowPass waits for one of these, pg_blocking_pids of its connection names the server's
// process of the holder, or 0 if it is prepared. It does not know whether that pass is older: call
// it only while your lease is believed, after ShowPass has failed by lock_timeout.
// FailedPrecondition: the pass is stale by the floor that is committed. By default only the
// schema's owner, who must be a superuser or in pg_signal_backend, may call it:
//   GRANT EXECUTE ON FUNCTION zkrecipes.end_holder TO holders
absl::StatusOr<int> EndHolder(pg_conn* connection, const std::string& resource,
                              const FencingPass& pass);

// COMMIT. Aborted if the server rolled back instead, as it does after a failed statement, though
// PostgreSQL calls that a success.
absl::Status CommitFenced(pg_conn* connection);

// OK if the statement was done. A null result is that of a lost connection. Of COPY, and of results
// row by row, the last result counts: InvalidArgument before.
absl::Status PostgresStatus(const pg_result* result);

}  // namespace zkrecipes

#endif  // ZKRECIPES_FENCING_FENCED_POSTGRES_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_FENCING_FENCING_SQL_H_
#define ZKRECIPES_FENCING_FENCING_SQL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "zkrecipes/fencing_pass.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// Fencing in an SQL database for those who bring their own client, such as libpqxx or SOCI. Pure
// text; needs no database. fenced_postgres.h says what is promised, and has the same over libpq.

// ---- Columns: PostgreSQL, SQLite, MySQL, MariaDB -----------------------------------------------

// For an UPDATE of one row that has the columns fence_epoch, fence and fence_shared, each
// `bigint NOT NULL DEFAULT 0`. Text without parameters:
//   "UPDATE ledger SET balance = balance - 5, " + clauses.set +
//       " WHERE id = 7 AND " + clauses.where
// If it writes no row, the pass is stale or there is no such row; in MySQL and MariaDB, whose
// clients count changed rows, also if the row is as it was: set CLIENT_FOUND_ROWS. Keep the order
// of `set` there, since each assignment sees those before it.
//
// A pass with a turn (FencingPass::turn) also needs the column fence_turn, made like the others.
// One without a turn does not look at it, so tables without it go on working; and so, unlike with
// the other resources, it is admitted after a turn of its own token. Show one token with turns or
// without, not both: a turn may be refused that is not over.
struct FencedClauses {
  std::string set = {};
  std::string where = {};
};
// `alias`: of the table in the statement, if another table there has columns of these names.
// InvalidArgument: the pass has no token, or a turn that is none.
absl::StatusOr<FencedClauses> FenceClauses(const FencingPass& pass, const std::string& alias = {});

// ---- Trigger: PostgreSQL -----------------------------------------------------------------------

// SQL that creates the schema `zkrecipes`, and may run again; for tools of yours it is installed as
// share/zkrecipes/fencing.sql, whose first lines say what it is called with. The user who runs it
// owns the floors. Other users write them only through `zkrecipes.show_pass`. PermissionDenied:
// another user has made a schema of this name.
std::string FencingSchema();

// The pass as the last arguments of `zkrecipes.show_pass` and `zkrecipes.end_holder`: epoch, token,
// reader, and the turn if it has one. Text without parameters; the first argument is the resource:
//   "SELECT zkrecipes.show_pass($1, " + *FencingArguments(pass) + ")"
// InvalidArgument: the pass has no token, or a turn that is none.
absl::StatusOr<std::string> FencingArguments(const FencingPass& pass);

// Of a PostgreSQL error by its SQLSTATE; an empty one is that of a lost connection. The codes are
// those in fenced_postgres.h.
absl::Status SqlStateStatus(const std::string& sqlstate, const std::string& message);

}  // namespace zkrecipes

#endif  // ZKRECIPES_FENCING_FENCING_SQL_H_

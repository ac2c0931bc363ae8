// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fencing/fenced_postgres.h"

#include <libpq-fe.h>

#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace zkrecipes {
namespace {

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;
using Values = std::vector<std::optional<std::string>>;

Result Own(PGresult* result) { return Result(result, &PQclear); }

// Text of a statement, its parameters, and whether all of them can be sent.
class Statement {
 public:
  explicit Statement(PGconn* connection) : connection_(connection) {}

  std::string Name(const std::string& name) {
    if (name.empty()) error_ = "a table or column has no name";
    ExpectNoNul(name);
    char* const quoted = PQescapeIdentifier(connection_, name.data(), name.size());
    if (quoted == nullptr) {
      error_ = absl::StrCat("the name ", name, ": ", PQerrorMessage(connection_));
      return "";
    }
    std::string text = quoted;
    PQfreemem(quoted);
    return text;
  }
  std::string Name(const PostgresTable& table) {
    return absl::StrCat(table.schema.empty() ? "" : Name(table.schema) + ".", Name(table.name));
  }
  std::string Parameter(std::optional<std::string> value) {
    if (value.has_value()) ExpectNoNul(*value);
    values_.push_back(std::move(value));
    return absl::StrCat("$", values_.size());
  }

  absl::StatusOr<Result> Run(const std::string& text) const {
    // A name that could not be quoted, or a text with a NUL in it, is never sent.
    if (!error_.empty()) return absl::InvalidArgumentError(error_);
    std::vector<const char*> values;
    for (const auto& value : values_) values.push_back(value ? value->c_str() : nullptr);
    Result result = Own(PQexecParams(connection_, text.c_str(), static_cast<int>(values.size()),
                                     nullptr, values.data(), nullptr, nullptr, /*resultFormat=*/0));
    if (result == nullptr) {
      return absl::UnavailableError(absl::StrCat("PostgreSQL: ", PQerrorMessage(connection_)));
    }
    absl::Status status = PostgresStatus(result.get());
    if (!status.ok()) return status;
    return result;
  }

 private:
  // libpq would send what is before it, which names another row or resource.
  void ExpectNoNul(const std::string& text) {
    if (absl::StrContains(text, '\0')) error_ = "a name or value has a NUL in it";
  }

  PGconn* const connection_;
  Values values_;
  std::string error_;
};

// On no floor at all: whether it is a pass.
absl::Status Check(const FencingPass& pass) { return FencingFloor().Admit(pass); }

absl::Status Check(const PostgresRow& row, const FencingPass& pass) {
  if (row.key.empty()) return absl::InvalidArgumentError("the row has no key");
  for (const PostgresValue& value : row.key) {
    // "key = NULL" is never true, so an upsert would insert a row of its own each time.
    if (!value.text) {
      return absl::InvalidArgumentError("the key's " + value.column + " is NULL: it names no row");
    }
  }
  return Check(pass);
}

// `zkr` is the table's alias in each statement, so that its columns are told from the user's.
std::string KeyIs(Statement& statement, const PostgresRow& row) {
  std::vector<std::string> terms;
  for (const PostgresValue& value : row.key) {
    terms.push_back(
        absl::StrCat("zkr.", statement.Name(value.column), " = ", statement.Parameter(value.text)));
  }
  return absl::StrJoin(terms, " AND ");
}

// Of several rows some might be admitted and others not: half of a write.
std::string IsOneRow(const std::string& table, const std::string& key_is) {
  return absl::StrCat("(SELECT count(*) FROM ", table, " AS zkr WHERE ", key_is, ") = 1");
}

// Of the floor as a statement sees it that began after the write.
absl::Status Judge(const PGresult* floor, const FencingPass& pass) {
  FencingFloor seen;
  int64_t exclusive = 0, shared = 0;
  if (!absl::SimpleAtoi(PQgetvalue(floor, 0, 0), &seen.epoch) ||
      !absl::SimpleAtoi(PQgetvalue(floor, 0, 1), &exclusive) ||
      !absl::SimpleAtoi(PQgetvalue(floor, 0, 2), &shared)) {
    return absl::FailedPreconditionError(
        "the row's fence columns are no numbers: none is admitted");
  }
  seen.exclusive = FencingToken(exclusive);
  seen.shared = FencingToken(shared);
  if (PQnfields(floor) > 3) (void)absl::SimpleAtoi(PQgetvalue(floor, 0, 3), &seen.turn);
  const absl::Status status = seen.Admit(pass);
  return status.ok() ? absl::AbortedError(
                           "the row changed while it was written, or a rule or "
                           "trigger of the table prevents the write")
                     : status;
}

// Why no row was written. A statement of its own: at READ COMMITTED, the one before it may have
// waited for a transaction whose work it did not see in full.
absl::Status WhyNone(PGconn* connection, const PostgresRow& row, const FencingPass& pass) {
  Statement select(connection);
  const std::string table = select.Name(row.table);
  const absl::StatusOr<Result> floor = select.Run(
      absl::StrCat("SELECT fence_epoch, fence, fence_shared", pass.turn == 0 ? "" : ", fence_turn",
                   " FROM ", table, " AS zkr WHERE ", KeyIs(select, row)));
  if (!floor.ok()) return floor.status();
  if (PQntuples(floor->get()) > 1) {
    return absl::InvalidArgumentError(absl::StrCat("the key names ", PQntuples(floor->get()),
                                                   " rows of ", row.table.name, ", not one"));
  }
  if (PQntuples(floor->get()) == 1) return Judge(floor->get(), pass);
  return absl::NotFoundError(absl::StrCat("no such row in ", row.table.name));
}

// A count that is missing is not "0": an unknown outcome is never taken for a refusal.
bool WroteNone(const Result& result) { return absl::string_view(PQcmdTuples(result.get())) == "0"; }

}  // namespace

absl::Status PostgresStatus(const pg_result* result) {
  if (result == nullptr) {
    return absl::UnavailableError("PostgreSQL: no answer: the connection is lost, or no memory");
  }
  switch (PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
      return absl::OkStatus();
    case PGRES_COPY_IN:
    case PGRES_COPY_OUT:
    case PGRES_COPY_BOTH:
    case PGRES_SINGLE_TUPLE:
      return absl::InvalidArgumentError(
          "PostgreSQL: the statement is under way (COPY, or single rows): judge the last result");
    case PGRES_EMPTY_QUERY:
      return absl::InvalidArgumentError("PostgreSQL: the statement is empty");
    case PGRES_PIPELINE_ABORTED:
      return absl::AbortedError("PostgreSQL: not run, since one before it in the pipeline failed");
    default:
      break;
  }
  const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* const primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const std::string text(absl::StripSuffix(PQresultErrorMessage(result), "\n"));
  if (state == nullptr || primary == nullptr) return SqlStateStatus("", text);
  return SqlStateStatus(state, primary);
}

// ---- Columns ------------------------------------------------------------------------------------

absl::Status AddFenceColumns(pg_conn* connection, const PostgresTable& table) {
  // A column of that name may be there already: a NULL admits none, and an int has no room for a
  // token, of which it would be known only by the first write. pg_catalog has oid = oid, so that no
  // operator of a stranger's in the search_path, such as oid = regclass, takes its place.
  Statement select(connection);
  const std::string name = select.Parameter(select.Name(table));
  const absl::StatusOr<Result> wrong = select.Run(absl::StrCat(
      "SELECT attname FROM pg_catalog.pg_attribute WHERE attrelid = ", name,
      "::regclass::oid AND attname IN ('fence_epoch', 'fence', 'fence_shared', "
      "'fence_turn') AND "
      "NOT attisdropped AND NOT (attnotnull AND atttypid = 'pg_catalog.int8'::regtype::oid)"));
  if (!wrong.ok()) return wrong.status();
  if (PQntuples(wrong->get()) > 0) {
    return absl::InvalidArgumentError(absl::StrCat(table.name, " has a column ",
                                                   PQgetvalue(wrong->get(), 0, 0),
                                                   " already, which is not bigint NOT NULL"));
  }
  Statement alter(connection);
  constexpr char kColumn[] = " bigint NOT NULL DEFAULT 0";
  return alter
      .Run(absl::StrCat("ALTER TABLE ", alter.Name(table), " ADD COLUMN IF NOT EXISTS fence_epoch",
                        kColumn, ", ADD COLUMN IF NOT EXISTS fence", kColumn,
                        ", ADD COLUMN IF NOT EXISTS fence_shared", kColumn,
                        ", ADD COLUMN IF NOT EXISTS fence_turn", kColumn))
      .status();
}

absl::Status FencedOutcome(const pg_result* result) {
  if (absl::Status status = PostgresStatus(result); !status.ok()) return status;
  if (absl::string_view(PQcmdTuples(const_cast<PGresult*>(result))) != "0") return absl::OkStatus();
  return absl::FailedPreconditionError("stale, or there is no such row: none was written");
}

absl::Status UpdateFenced(pg_conn* connection, const PostgresRow& row, const FencingPass& pass) {
  if (absl::Status status = Check(row, pass); !status.ok()) return status;
  // The comparison is in the WHERE: it is judged again by the row that another transaction leaves.
  const FencedClauses clauses = *FenceClauses(pass, "zkr");
  Statement update(connection);
  std::string text = absl::StrCat("UPDATE ", update.Name(row.table), " AS zkr SET ", clauses.set);
  for (const PostgresValue& value : row.set) {
    absl::StrAppend(&text, ", ", update.Name(value.column), " = ", update.Parameter(value.text));
  }
  const std::string key_is = KeyIs(update, row);
  absl::StrAppend(&text, " WHERE ", key_is, " AND ", clauses.where, " AND ",
                  IsOneRow(update.Name(row.table), key_is));
  // No row was written: stale, or not there, or in the way of another transaction. WhyNone asks.
  const absl::StatusOr<Result> result = update.Run(text);
  if (!result.ok()) return result.status();
  return WroteNone(*result) ? WhyNone(connection, row, pass) : absl::OkStatus();
}

absl::Status UpsertFenced(pg_conn* connection, const PostgresRow& row, const FencingPass& pass) {
  if (absl::Status status = Check(row, pass); !status.ok()) return status;
  const FencedClauses clauses = *FenceClauses(pass, "zkr");
  Statement insert(connection);
  std::vector<std::string> key, columns, values, set = {clauses.set};
  const auto add = [&](const PostgresValue& value) {
    columns.push_back(insert.Name(value.column));
    values.push_back(insert.Parameter(value.text));
  };
  for (const PostgresValue& value : row.key) add(value);
  key = columns;
  for (const PostgresValue& value : row.set) {
    add(value);
    set.push_back(absl::StrCat(columns.back(), " = EXCLUDED.", columns.back()));
  }
  // A new row begins with the pass's floor; one that is there is judged as by an update.
  const bool reader = pass.mode == GrantMode::kShared;
  const std::string token = pass.token.ToString();
  const absl::StatusOr<Result> result = insert.Run(absl::StrCat(
      "INSERT INTO ", insert.Name(row.table), " AS zkr (fence_epoch, fence, fence_shared, ",
      pass.turn == 0 ? "" : "fence_turn, ", absl::StrJoin(columns, ", "), ") VALUES (", pass.epoch,
      ", ", reader ? "0" : token, ", ", reader ? token : "0", ", ",
      pass.turn == 0 ? "" : absl::StrCat(pass.turn, ", "), absl::StrJoin(values, ", "),
      ") ON CONFLICT (", absl::StrJoin(key, ", "), ") DO UPDATE SET ", absl::StrJoin(set, ", "),
      " WHERE ", clauses.where));
  if (!result.ok()) return result.status();
  return WroteNone(*result) ? WhyNone(connection, row, pass) : absl::OkStatus();
}

// ---- Trigger ------------------------------------------------------------------------------------

absl::Status GuardTable(pg_conn* connection, const PostgresTable& table,
                        const std::string& resource, const std::string& key_column) {
  if (resource.empty()) return absl::InvalidArgumentError("the resource has no name");
  Statement guard(connection);
  const std::string name = guard.Parameter(guard.Name(table));
  const std::string of = guard.Parameter(resource);
  const std::string key =
      guard.Parameter(key_column.empty() ? std::nullopt : std::optional(key_column));
  return guard
      .Run(absl::StrCat("SELECT zkrecipes.guard(", name, "::regclass, ", of, ", ", key, ")"))
      .status();
}

namespace {

// By itself it would be a transaction of its own, and the writes that follow would have no pass.
absl::Status ExpectTransaction(PGconn* connection) {
  if (PQtransactionStatus(connection) != PQTRANS_IDLE) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "the connection is not in a transaction: what it shows or commits would be nothing");
}

// `function` of the schema, with this pass for this resource.
absl::StatusOr<Result> Call(PGconn* connection, const char* function, const std::string& resource,
                            const FencingPass& pass) {
  if (resource.empty()) return absl::InvalidArgumentError("the resource has no name");
  const auto arguments = FencingArguments(pass);
  if (!arguments.ok()) return arguments.status();
  Statement call(connection);
  const std::string of = call.Parameter(resource);
  return call.Run(absl::StrCat("SELECT zkrecipes.", function, "(", of, ", ", *arguments, ")"));
}

}  // namespace

absl::Status ShowPass(pg_conn* connection, const std::string& resource, const FencingPass& pass) {
  if (absl::Status status = ExpectTransaction(connection); !status.ok()) return status;
  return Call(connection, "show_pass", resource, pass).status();
}

absl::StatusOr<bool> BeginOperation(pg_conn* connection, const std::string& resource,
                                    const std::string& operation) {
  if (absl::Status status = ExpectTransaction(connection); !status.ok()) return status;
  Statement begin(connection);
  const std::string of = begin.Parameter(resource), what = begin.Parameter(operation);
  const absl::StatusOr<Result> begun =
      begin.Run(absl::StrCat("SELECT zkrecipes.begin_operation(", of, ", ", what, ")"));
  if (!begun.ok()) return begun.status();
  return absl::string_view(PQgetvalue(begun->get(), 0, 0)) == "t";
}

absl::StatusOr<int> EndHolder(pg_conn* connection, const std::string& resource,
                              const FencingPass& pass) {
  const absl::StatusOr<Result> ended = Call(connection, "end_holder", resource, pass);
  if (!ended.ok()) return ended.status();
  int count = 0;
  (void)absl::SimpleAtoi(PQgetvalue(ended->get(), 0, 0), &count);
  return count;
}

absl::Status CommitFenced(pg_conn* connection) {
  // PostgreSQL calls that a success, too: the transaction may have ended with a lost connection
  // that was reset since.
  if (absl::Status status = ExpectTransaction(connection); !status.ok()) return status;
  const Result result = Own(PQexec(connection, "COMMIT"));
  if (absl::Status status = PostgresStatus(result.get()); !status.ok()) {
    // The connection may have been lost before the server had the COMMIT, or after.
    if (!absl::IsUnavailable(status)) return status;
    return absl::UnavailableError(
        absl::StrCat(status.message(), "; not known whether the transaction was committed"));
  }
  // A failed transaction answers COMMIT with the tag ROLLBACK, and calls that a success.
  if (absl::StartsWith(PQcmdStatus(result.get()), "COMMIT")) return absl::OkStatus();
  return absl::AbortedError("rolled back: a statement of the transaction had failed");
}

}  // namespace zkrecipes

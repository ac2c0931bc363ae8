// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fencing/floor_database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "lib/base/unique_fd.h"

namespace zkrecipes {
namespace {

constexpr size_t kLongestKey = 4096;
constexpr int kApplication = 0x7a6b7266;  // by which a floor database is told from any other
constexpr int kVersion = 2;               // 1 had no turns

struct CloseDatabase {
  void operator()(sqlite3* database) const { (void)sqlite3_close(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { (void)sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

absl::Status SystemError(const char* call, const std::string& path) {
  const int error = errno;
  const std::string message = absl::StrCat(call, " ", path, ": ", std::strerror(error));
  return error == EEXIST ? absl::AlreadyExistsError(message) : absl::UnavailableError(message);
}

// Of the last call, which failed.
absl::Status Failed(sqlite3* database, const std::string& path) {
  const std::string message = absl::StrCat(path, ": ", sqlite3_errmsg(database));
  switch (sqlite3_errcode(database) & 0xff) {
    case SQLITE_BUSY:
      return absl::FailedPreconditionError(absl::StrCat(message, ": it is open already"));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(message);
    case SQLITE_CANTOPEN:
      if (sqlite3_system_errno(database) == ENOENT) {
        return absl::NotFoundError(absl::StrCat(path, ": there is no such floor database"));
      }
      break;
    default:
      break;
  }
  return absl::UnavailableError(message);
}

// SQLite takes ":memory:", "" and "file:..." for other things than names of files, and reads a path
// up to a NUL.
absl::StatusOr<std::string> FileName(const std::string& path) {
  if (path.empty()) return absl::InvalidArgumentError("the path of a floor database is empty");
  if (absl::StrContains(path, '\0')) {
    return absl::InvalidArgumentError("the path of a floor database has a NUL in it");
  }
  return path[0] == '/' ? path : "./" + path;
}

absl::StatusOr<Database> Opened(const std::string& file) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &raw, SQLITE_OPEN_READWRITE, nullptr);
  Database database(raw);
  if (code == SQLITE_OK) return database;
  return database == nullptr ? absl::UnavailableError(file + ": no memory")
                             : Failed(database.get(), file);
}

absl::Status Run(sqlite3* database, const std::string& file, const std::string& sql) {
  return sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK
             ? absl::OkStatus()
             : Failed(database, file);
}

absl::Status SyncFolderOf(const std::string& file) {
  const std::string folder = file.substr(0, file.rfind('/') + 1);
  const base::UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd.valid() && fsync(fd.get()) == 0 ? absl::OkStatus() : SystemError("sync", folder);
}

constexpr char kTurn[] = "turn INTEGER NOT NULL DEFAULT 0";

// Makes the file whole, under a name of its own, with its bytes on the disk.
absl::Status Fill(const std::string& file) {
  auto database = Opened(file);
  if (!database.ok()) return database.status();
  return Run(database->get(), file,
             absl::StrCat("PRAGMA synchronous = FULL; BEGIN; PRAGMA application_id = ",
                          kApplication, "; PRAGMA user_version = ", kVersion,
                          "; CREATE TABLE floors (key BLOB PRIMARY KEY, epoch INTEGER NOT NULL, "
                          "exclusive INTEGER NOT NULL, shared INTEGER NOT NULL, ",
                          kTurn, ") STRICT, WITHOUT ROWID; COMMIT"));
}

class FloorDatabase : public FloorStore {
 public:
  FloorDatabase(Database database, std::string file)
      : database_(std::move(database)), file_(std::move(file)) {}

  absl::Status Begin() {
    // Before anything is written: a file of another kind is left alone. The first read also rolls
    // back a save that a crash has interrupted.
    absl::Status status = Expect("PRAGMA application_id", absl::StrCat(kApplication));
    // SQLite opens one that may only be read as such, locks it for no one alone, and says nothing.
    if (status.ok() && sqlite3_db_readonly(database_.get(), "main") != 0) {
      status = absl::UnavailableError(file_ + ": it may be read, but not written");
    }
    // This connection keeps the lock from here on: of two gates on one database, each would admit
    // passes by floors that the other has raised since.
    if (status.ok()) status = Run("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT");
    const bool has_no_turns = status.ok() && Expect("PRAGMA user_version", "1").ok();
    if (status.ok() && !has_no_turns) {
      status = Expect("PRAGMA user_version", absl::StrCat(kVersion));
    }
    if (status.ok()) status = Expect("PRAGMA quick_check(1)", "ok");
    // A save is confirmed by a sync of the journal that is now empty. If the journal were deleted
    // instead, a power failure could bring it back, and SQLite would undo the save.
    if (status.ok()) status = Expect("PRAGMA journal_mode = TRUNCATE", "truncate");
    if (status.ok()) status = Run("PRAGMA synchronous = FULL");
    if (status.ok()) status = Expect("PRAGMA synchronous", "2");
    return status.ok() && has_no_turns ? AddTurns() : status;
  }

  absl::Status Load(
      absl::FunctionRef<void(const std::string&, const FencingFloor&)> each) override {
    const Statement select = Prepared("SELECT key, epoch, exclusive, shared, turn FROM floors");
    if (select == nullptr) return Error();
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(select.get())) == SQLITE_ROW) {
      // The blob of an empty key is null.
      const auto* bytes = static_cast<const char*>(sqlite3_column_blob(select.get(), 0));
      const auto size = static_cast<size_t>(sqlite3_column_bytes(select.get(), 0));
      each(bytes == nullptr ? "" : std::string(bytes, size),
           {.epoch = sqlite3_column_int64(select.get(), 1),
            .exclusive = FencingToken(sqlite3_column_int64(select.get(), 2)),
            .shared = FencingToken(sqlite3_column_int64(select.get(), 3)),
            .turn = sqlite3_column_int64(select.get(), 4)});
    }
    return code == SQLITE_DONE ? absl::OkStatus() : Error();
  }

  absl::Status Save(const std::string& key, const FencingFloor& floor) override {
    if (key.size() > kLongestKey) {
      return absl::InvalidArgumentError(
          absl::StrCat("a key of ", key.size(), " bytes: must be at most ", kLongestKey));
    }
    const Statement save = Prepared("INSERT OR REPLACE INTO floors VALUES (?, ?, ?, ?, ?)");
    if (save != nullptr) {
      (void)sqlite3_bind_int64(save.get(), 2, floor.epoch);
      (void)sqlite3_bind_int64(save.get(), 3, floor.exclusive.value());
      (void)sqlite3_bind_int64(save.get(), 4, floor.shared.value());
      (void)sqlite3_bind_int64(save.get(), 5, floor.turn);
    }
    return Write(save, key);
  }

  absl::Status Forget(const std::string& key) override {
    return Write(Prepared("DELETE FROM floors WHERE key = ?"), key);
  }

 private:
  // The number with the column, so that a build which knows no turns does not open it.
  absl::Status AddTurns() {
    return Run(absl::StrCat("BEGIN; ALTER TABLE floors ADD COLUMN ", kTurn,
                            "; PRAGMA user_version = ", kVersion, "; COMMIT"));
  }
  absl::Status Run(const std::string& sql) { return zkrecipes::Run(database_.get(), file_, sql); }
  // DataLoss if a pragma does not answer with this text. SQLite ignores a pragma that it does not
  // know, so none is taken for done.
  absl::Status Expect(const std::string& pragma, const std::string& answer) {
    const Statement statement = Prepared(pragma.c_str());
    if (statement == nullptr || sqlite3_step(statement.get()) != SQLITE_ROW) return Error();
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), 0));
    if (text != nullptr && text == answer) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(file_, ": ", pragma, " gives ",
                                            text == nullptr ? "nothing" : text, ", not ", answer));
  }
  absl::Status Error() { return Failed(database_.get(), file_); }

  // Null: Error() says why.
  Statement Prepared(const char* sql) {
    sqlite3_stmt* raw = nullptr;
    (void)sqlite3_prepare_v2(database_.get(), sql, -1, &raw, nullptr);
    return Statement(raw);
  }

  // Each statement is a transaction of its own: it is done, on the disk, or not at all.
  absl::Status Write(const Statement& statement, const std::string& key) {
    const bool done = statement != nullptr &&
                      sqlite3_bind_blob(statement.get(), 1, key.data(),
                                        static_cast<int>(key.size()), SQLITE_STATIC) == SQLITE_OK &&
                      sqlite3_step(statement.get()) == SQLITE_DONE;
    return done ? absl::OkStatus() : Error();
  }

  const Database database_;
  const std::string file_;
};

}  // namespace

absl::Status CreateFloorDatabase(const std::string& path) {
  const auto file = FileName(path);
  if (!file.ok()) return file.status();
  // SQLite would roll the journal of an older database back into the new one. While there is no
  // database nobody writes one; the empty file that a store leaves when it is closed does no harm.
  struct stat journal = {};
  if (stat((*file + "-journal").c_str(), &journal) == 0 && journal.st_size > 0) {
    return absl::AlreadyExistsError(absl::StrCat(path, "-journal: of an older database"));
  }
  std::string whole = *file + ".XXXXXX";
  base::UniqueFd fd(mkostemp(whole.data(), O_CLOEXEC));
  if (!fd.valid()) return SystemError("create", path);
  absl::Status status = Fill(whole);
  // The bytes first, then the name: whoever finds the name after a crash finds a whole database.
  if (status.ok() && fsync(fd.get()) != 0) status = SystemError("sync", whole);
  // Without a descriptor: closing one takes all of the process's fcntl locks on the file with it,
  // also those of a store that another thread has opened by the name.
  fd.reset();
  // Fails if the name is taken, unlike a rename.
  if (status.ok() && link(whole.c_str(), file->c_str()) != 0) status = SystemError("create", path);
  (void)unlink(whole.c_str());
  return status.ok() ? SyncFolderOf(*file) : status;
}

absl::StatusOr<std::unique_ptr<FloorStore>> OpenFloorDatabase(const std::string& path) {
  const auto file = FileName(path);
  if (!file.ok()) return file.status();
  auto database = Opened(*file);
  if (!database.ok()) return database.status();
  auto store = std::make_unique<FloorDatabase>(*std::move(database), *file);
  if (absl::Status status = store->Begin(); !status.ok()) return status;
  return store;
}

}  // namespace zkrecipes

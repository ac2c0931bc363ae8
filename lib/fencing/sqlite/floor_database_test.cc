// SPDX-License-Identifier: Apache-2.0
//
// With processes that are killed at each of their writes.

#include "zkrecipes/fencing/floor_database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "zkrecipes/fencing/fencing_gate.h"

namespace zkrecipes {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using Floors = std::map<std::string, FencingFloor>;

FencingFloor FloorAt(int64_t token) { return {.exclusive = FencingToken(token)}; }

// SQLite's system calls in a child of the test: it ends within the nth that changes a file.
class Death {
 public:
  static constexpr int kStatus = 17;

  static void ComeAt(int n) {
    calls_left_ = n;
    sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
    const auto replace = [vfs](const char* name, auto* call) {
      (void)vfs->xSetSystemCall(vfs, name, reinterpret_cast<sqlite3_syscall_ptr>(call));
    };
    replace("write", &Write);
    replace("pwrite", &WriteAt);
    replace("pwrite64", &WriteAt);
    replace("ftruncate", &Truncate);
    replace("unlink", &Unlink);
  }

 private:
  static bool Comes() { return calls_left_-- == 0; }
  // Half of the bytes arrive.
  static ssize_t Write(int fd, const void* bytes, size_t size) {
    if (!Comes()) return write(fd, bytes, size);
    (void)!write(fd, bytes, size / 2);
    _exit(kStatus);
  }
  static ssize_t WriteAt(int fd, const void* bytes, size_t size, off_t at) {
    if (!Comes()) return pwrite(fd, bytes, size, at);
    (void)!pwrite(fd, bytes, size / 2, at);
    _exit(kStatus);
  }
  static int Truncate(int fd, off_t size) {
    if (Comes()) _exit(kStatus);
    return ftruncate(fd, size);
  }
  static int Unlink(const char* path) {
    if (Comes()) _exit(kStatus);
    return unlink(path);
  }
  static inline int calls_left_ = 0;
};

class FloorDatabaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/floors";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<FloorStore> Open() {
    auto store = OpenFloorDatabase(path_);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }
  static Floors In(FloorStore& store) {
    Floors floors;
    EXPECT_EQ(store.Load([&](const std::string& key, const FencingFloor& floor) {
      EXPECT_TRUE(floors.emplace(key, floor).second) << key;
    }),
              absl::OkStatus());
    return floors;
  }

  // In memory where that is to be had: a process that is killed leaves the same there as on a disk.
  std::string folder_ =
      (std::filesystem::exists("/dev/shm") ? std::filesystem::path("/dev/shm")
                                           : std::filesystem::temp_directory_path()) /
      "zkr-floors-XXXXXX";
  std::string path_;
};

TEST_F(FloorDatabaseTest, LoadsWhatWasSavedAndNotForgotten) {
  ASSERT_EQ(CreateFloorDatabase(path_), absl::OkStatus());
  const std::string strange("\0'\xff\n", 4);
  const FencingFloor floor = {3, FencingToken(int64_t{1} << 62), FencingToken(7), 9};
  {
    const auto store = Open();
    EXPECT_TRUE(In(*store).empty());
    for (const std::string& key : {std::string(), std::string("gone"), strange}) {
      EXPECT_EQ(store->Save(key, FloorAt(1)), absl::OkStatus());
    }
    EXPECT_EQ(store->Save(strange, floor), absl::OkStatus());
    EXPECT_EQ(store->Forget("gone"), absl::OkStatus());
    EXPECT_EQ(store->Forget("never there"), absl::OkStatus());
    EXPECT_TRUE(absl::IsInvalidArgument(store->Save(std::string(4097, 'k'), floor)));
  }
  EXPECT_THAT(In(*Open()), ElementsAre(Pair("", FloorAt(1)), Pair(strange, floor)));
}

// An empty one in the place of the one that should be there would admit a holder that is out of
// date.
TEST_F(FloorDatabaseTest, OneThatIsMissingOrWasEmptiedIsAnErrorAndNoFloorOfNothing) {
  EXPECT_TRUE(absl::IsNotFound(OpenFloorDatabase(path_).status()));
  EXPECT_TRUE(absl::IsNotFound(OpenFloorDatabase(folder_ + "/unmounted/floors").status()));
  EXPECT_FALSE(std::filesystem::exists(path_));
  ASSERT_EQ(CreateFloorDatabase(path_), absl::OkStatus());
  EXPECT_TRUE(absl::IsAlreadyExists(CreateFloorDatabase(path_)));
  std::filesystem::resize_file(path_, 0);
  EXPECT_TRUE(absl::IsDataLoss(OpenFloorDatabase(path_).status()));
  EXPECT_TRUE(absl::IsAlreadyExists(CreateFloorDatabase(path_)));
  EXPECT_EQ(std::filesystem::file_size(path_), 0u);
}

// As of a file on a disk that is mounted read-only.
int OpenToReadAlone(const char* path, int flags, int mode) {
  if ((flags & O_ACCMODE) == O_RDONLY) return open(path, flags, mode);
  errno = EROFS;
  return -1;
}

TEST_F(FloorDatabaseTest, OneThatCannotBeWrittenIsNotOpened) {
  ASSERT_EQ(CreateFloorDatabase(path_), absl::OkStatus());
  sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
  const auto call = reinterpret_cast<sqlite3_syscall_ptr>(&OpenToReadAlone);
  ASSERT_EQ(vfs->xSetSystemCall(vfs, "open", call), SQLITE_OK);
  const absl::Status refused = OpenFloorDatabase(path_).status();
  ASSERT_EQ(vfs->xSetSystemCall(vfs, "open", nullptr), SQLITE_OK);  // the system's again
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_NE(Open(), nullptr);
}

TEST_F(FloorDatabaseTest, RefusesAnotherFileADamagedOneAndAnOldersJournal) {
  std::ofstream(path_) << "somebody's own file\n";
  EXPECT_TRUE(absl::IsDataLoss(OpenFloorDatabase(path_).status()));
  std::filesystem::remove(path_);
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "CREATE TABLE floors (key)", nullptr, nullptr, nullptr), SQLITE_OK);
  ASSERT_EQ(sqlite3_close(other), SQLITE_OK);
  EXPECT_TRUE(absl::IsDataLoss(OpenFloorDatabase(path_).status()));
  std::filesystem::remove(path_);
  std::ofstream(path_ + "-journal") << "not empty";
  EXPECT_TRUE(absl::IsAlreadyExists(CreateFloorDatabase(path_)));
  std::filesystem::remove(path_ + "-journal");
  ASSERT_EQ(CreateFloorDatabase(path_), absl::OkStatus());
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 4096);
  EXPECT_TRUE(absl::IsDataLoss(OpenFloorDatabase(path_).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(OpenFloorDatabase("").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(CreateFloorDatabase("")));
  EXPECT_TRUE(absl::IsInvalidArgument(CreateFloorDatabase(path_ + '\0')));
  EXPECT_TRUE(absl::IsInvalidArgument(OpenFloorDatabase(path_ + '\0').status()));
  EXPECT_TRUE(absl::IsUnavailable(CreateFloorDatabase(folder_ + "/none/floors")));
}

TEST_F(FloorDatabaseTest, AGateRefusesAfterARestartWhatItRefusedBefore) {
  ASSERT_EQ(CreateFloorDatabase(path_), absl::OkStatus());
  for (const bool restarted : {false, true}) {
    const auto gate = *FencingGate::Open({.store = Open()});
    if (!restarted) {
      EXPECT_EQ(gate->Admit("k", {.token = FencingToken(7)}), absl::OkStatus());
    }
    EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit("k", {.token = FencingToken(6)})));
  }
}

// As builds made it that knew no turns.
void MakeOneWithoutTurns(const std::string& path) {
  sqlite3* old = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &old), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(old,
                         "PRAGMA application_id = 2053861990; PRAGMA user_version = 1; CREATE "
                         "TABLE floors (key BLOB PRIMARY KEY, epoch INTEGER NOT NULL, exclusive "
                         "INTEGER NOT NULL, shared INTEGER NOT NULL) STRICT, WITHOUT ROWID; INSERT "
                         "INTO floors VALUES (x'61', 3, 7, 8)",
                         nullptr, nullptr, nullptr),
            SQLITE_OK)
      << sqlite3_errmsg(old);
  EXPECT_EQ(sqlite3_close(old), SQLITE_OK);
}

TEST_F(FloorDatabaseTest, AFloorFromBeforeTheTurnsHasNone) {
  MakeOneWithoutTurns(path_);
  const FencingFloor old = {3, FencingToken(7), FencingToken(8)};
  const FencingFloor turn = {3, FencingToken(9), FencingToken(8), 2};
  for (int opened = 0; opened < 2; ++opened) {
    auto store = Open();
    ASSERT_NE(store, nullptr);
    EXPECT_THAT(In(*store), ElementsAre(Pair("a", opened == 0 ? old : turn)));
    EXPECT_EQ(store->Save("a", turn), absl::OkStatus());
  }
}

TEST_F(FloorDatabaseTest, OneFromBeforeTheTurnsIsKeptWhereverItsProcessIsKilled) {
  int deaths = 0;
  for (int status = -1; status != 0; ++deaths) {
    SCOPED_TRACE(absl::StrCat("killed at call ", deaths));
    MakeOneWithoutTurns(path_);
    const pid_t child = fork();
    if (child == 0) {
      Death::ComeAt(deaths);
      _exit(OpenFloorDatabase(path_).ok() ? 0 : 1);
    }
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_TRUE(status == 0 || WEXITSTATUS(status) == Death::kStatus) << WEXITSTATUS(status);
    auto store = Open();
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(In(*store)["a"], (FencingFloor{3, FencingToken(7), FencingToken(8)}));
    store.reset();
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      std::filesystem::remove(entry.path());
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(deaths, 3);
}

TEST_F(FloorDatabaseTest, OneOfALaterVersionIsLeftAlone) {
  ASSERT_EQ(CreateFloorDatabase(path_), absl::OkStatus());
  sqlite3* later = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &later), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(later, "PRAGMA user_version = 3", nullptr, nullptr, nullptr), SQLITE_OK);
  ASSERT_EQ(sqlite3_close(later), SQLITE_OK);
  EXPECT_TRUE(absl::IsDataLoss(OpenFloorDatabase(path_).status()));
}

// Creates the database and saves three rounds of three keys, and says so after each, as bytes.
void Live(const std::string& path, int out) {
  if (!CreateFloorDatabase(path).ok()) _exit(1);
  (void)!write(out, "created", 1);
  const auto store = OpenFloorDatabase(path);
  if (!store.ok()) _exit(2);
  for (int64_t token = 1; token <= 3; ++token) {
    for (const char* key : {"a", "b", "a longer key"}) {
      if (!(*store)->Save(key, FloorAt(token)).ok()) _exit(3);
      (void)!write(out, "saved", 1);
    }
  }
  _exit(0);
}

TEST_F(FloorDatabaseTest, KeepsWhatItConfirmedWhereverItsProcessIsKilled) {
  int deaths = 0;
  for (int status = -1; status != 0; ++deaths) {
    SCOPED_TRACE(absl::StrCat("killed at call ", deaths));
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      Death::ComeAt(deaths);
      Live(path_, pipe_ends[1]);
    }
    (void)close(pipe_ends[1]);
    int confirmed = -1;  // 0: it was created
    for (char byte = 0; read(pipe_ends[0], &byte, 1) == 1;) ++confirmed;
    (void)close(pipe_ends[0]);
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_TRUE(status == 0 || WEXITSTATUS(status) == Death::kStatus) << WEXITSTATUS(status);

    if (confirmed < 0 && !std::filesystem::exists(path_)) {
      EXPECT_EQ(CreateFloorDatabase(path_), absl::OkStatus());
    }
    auto store = Open();
    ASSERT_NE(store, nullptr);
    Floors floors = In(*store);
    int nth = 0;
    for (const char* key : {"a", "b", "a longer key"}) {
      const int64_t rounds = (confirmed + 2 - nth++) / 3;  // that confirmed this key
      EXPECT_GE(floors[key].exclusive.value(), rounds) << key;
      EXPECT_LE(floors[key].exclusive.value(), rounds + 1) << key;
    }
    EXPECT_EQ(store->Save("more", FloorAt(9)), absl::OkStatus());
    store.reset();
    EXPECT_EQ(In(*Open())["more"], FloorAt(9));
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      std::filesystem::remove(entry.path());
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(deaths, 60);
  RecordProperty("deaths", deaths);
}

}  // namespace
}  // namespace zkrecipes

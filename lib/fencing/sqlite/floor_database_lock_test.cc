// SPDX-License-Identifier: Apache-2.0
//
// One process at a time has a floor database open, and has it once.

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gtest/gtest.h"

#include "zkrecipes/fencing/floor_database.h"

namespace {

// Runs as a file is removed, until it returns true.
std::function<bool()>& AtUnlink() {
  static std::function<bool()> at_unlink;
  return at_unlink;
}

}  // namespace

// In place of the C library's.
extern "C" int unlink(const char* path) noexcept {
  const std::function<bool()> now = std::exchange(AtUnlink(), nullptr);
  if (now && !now()) AtUnlink() = now;
  return unlinkat(AT_FDCWD, path, 0);
}

namespace zkrecipes {
namespace {

// Another process, from before anything was opened here: what is open it learns by the file alone.
class OtherProcess {
 public:
  explicit OtherProcess(const std::string& path) {
    EXPECT_EQ(pipe(ends_), 0);
    child_ = fork();
    if (child_ != 0) return;
    (void)close(ends_[1]);
    char byte = 0;
    (void)!read(ends_[0], &byte, 1);  // until Open closes the other end
    _exit(static_cast<int>(OpenFloorDatabase(path).status().code()));
  }
  // Once.
  absl::StatusCode Open() {
    for (const int end : ends_) (void)close(end);
    int status = -1;
    EXPECT_EQ(waitpid(child_, &status, 0), child_);
    return static_cast<absl::StatusCode>(WEXITSTATUS(status));
  }

 private:
  int ends_[2] = {-1, -1};
  pid_t child_ = -1;
};

class FloorDatabaseLock : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/floors";
    other_.emplace(path_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_ = (std::filesystem::temp_directory_path() / "zkr-floors-XXXXXX").string();
  std::string path_;
  std::optional<OtherProcess> other_;
};

TEST_F(FloorDatabaseLock, IsOneStoresAtATime) {
  ASSERT_EQ(CreateFloorDatabase(path_), absl::OkStatus());
  auto store = OpenFloorDatabase(path_);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_TRUE(absl::IsFailedPrecondition(OpenFloorDatabase(path_).status()));
  EXPECT_EQ(other_->Open(), absl::StatusCode::kFailedPrecondition);
  store->reset();
  EXPECT_TRUE(OpenFloorDatabase(path_).ok());
}

// Another thread finds the database as soon as it has its name.
TEST_F(FloorDatabaseLock, IsKeptByOneThatIsOpenedBeforeItsCreationHasReturned) {
  std::unique_ptr<FloorStore> store;
  AtUnlink() = [&] {
    if (!std::filesystem::exists(path_)) return false;
    auto opened = OpenFloorDatabase(path_);
    EXPECT_TRUE(opened.ok()) << opened.status();
    if (opened.ok()) store = *std::move(opened);
    return true;
  };
  ASSERT_EQ(CreateFloorDatabase(path_), absl::OkStatus());
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(other_->Open(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace zkrecipes

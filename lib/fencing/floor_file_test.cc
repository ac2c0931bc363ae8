// SPDX-License-Identifier: Apache-2.0
//
// A floor file on a disk whose crash comes at any call, and at any byte of what was not synced.

#include "lib/fencing/floor_file.h"

#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

namespace zkrecipes::internal {
namespace {

constexpr char kPath[] = "/d/floors";

// What a file says now, and what a crash leaves of it at least.
struct Content {
  std::string now;
  std::string synced;
};
using Inode = std::shared_ptr<Content>;

struct Platter {
  std::map<std::string, Inode> names;
  std::map<std::string, Inode> synced_names;
  int calls = 0;
  int crash_at = -1;  // this call and all later ones fail
  size_t torn = 0;    // of a write that crashes so many bytes arrive

  bool Crashes() { return crash_at >= 0 && calls++ >= crash_at; }
};

absl::Status Crash() { return absl::UnavailableError("crash"); }

class FakeFile : public DiskFile {
 public:
  FakeFile(Platter& platter, Inode inode) : platter_(platter), inode_(std::move(inode)) {}
  absl::StatusOr<std::string> Read() override { return inode_->now; }
  absl::Status Write(size_t at, absl::string_view bytes) override {
    const bool crashes = platter_.Crashes();
    if (crashes) bytes = bytes.substr(0, std::exchange(platter_.torn, 0));
    if (bytes.empty()) return crashes ? Crash() : absl::OkStatus();
    inode_->now.resize(std::max(inode_->now.size(), at + bytes.size()));
    inode_->now.replace(at, bytes.size(), std::string(bytes));
    return crashes ? Crash() : absl::OkStatus();
  }
  absl::Status Truncate(size_t size) override {
    if (platter_.Crashes()) return Crash();
    inode_->now.resize(size);
    return absl::OkStatus();
  }
  absl::Status Sync() override {
    if (platter_.Crashes()) return Crash();
    inode_->synced = inode_->now;
    return absl::OkStatus();
  }

 private:
  Platter& platter_;
  const Inode inode_;
};

class FakeDisk : public Disk {
 public:
  explicit FakeDisk(Platter& platter) : platter_(platter) {}
  absl::StatusOr<std::unique_ptr<DiskFile>> Open(const std::string& path) override {
    if (platter_.Crashes()) return Crash();
    Inode& inode = platter_.names[path];
    if (inode == nullptr) inode = std::make_shared<Content>();
    return std::make_unique<FakeFile>(platter_, inode);
  }
  absl::Status Lock(const std::string&) override { return absl::OkStatus(); }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    if (platter_.Crashes()) return Crash();
    platter_.names[to] = platter_.names[from];
    platter_.names.erase(from);
    return absl::OkStatus();
  }
  absl::Status SyncFolderOf(const std::string&) override {
    if (platter_.Crashes()) return Crash();
    platter_.synced_names = platter_.names;
    return absl::OkStatus();
  }

 private:
  Platter& platter_;
};

// Saves five rounds of three keys, and rewrites meanwhile. Returns what was confirmed.
std::map<std::string, int64_t> Live(Platter& platter) {
  std::map<std::string, int64_t> confirmed;
  auto store = FloorFile::Open(std::make_unique<FakeDisk>(platter), kPath, /*spare=*/1);
  if (!store.ok()) return confirmed;
  for (int64_t token = 1; token <= 5; ++token) {
    for (const char* key : {"a", "a longer key", "c"}) {
      if ((*store)->Save(key, {.exclusive = FencingToken(token)}).ok()) confirmed[key] = token;
    }
  }
  return confirmed;
}

std::unique_ptr<FloorStore> Opened(Platter& platter, std::map<std::string, int64_t>& loaded) {
  auto store = FloorFile::Open(std::make_unique<FakeDisk>(platter), kPath, 1);
  EXPECT_TRUE(store.ok()) << store.status();
  if (!store.ok()) return nullptr;
  const auto note = [&](const std::string& key, const FencingFloor& floor) {
    loaded[key] = floor.exclusive.value();
  };
  EXPECT_EQ((*store)->Load(note), absl::OkStatus());
  return *std::move(store);
}

// And the file goes on from there.
void ExpectAllThere(const std::map<std::string, int64_t>& confirmed, Platter& after) {
  std::map<std::string, int64_t> loaded;
  const auto store = Opened(after, loaded);
  ASSERT_NE(store, nullptr);
  for (const auto& [key, token] : confirmed) {
    EXPECT_GE(loaded[key], token) << key;
    EXPECT_LE(loaded[key], token + 1) << key << ": only what was being saved may be there";
  }
  EXPECT_EQ(store->Save("d", {.exclusive = FencingToken(9)}), absl::OkStatus());
  loaded.clear();
  EXPECT_NE(Opened(after, loaded), nullptr);
  EXPECT_EQ(loaded["d"], 9);
}

// After the crash: what was synced for sure, and of the rest all or nothing.
Platter After(const Platter& platter, bool names_kept, bool bytes_kept) {
  Platter after;
  for (const auto& [name, inode] : names_kept ? platter.names : platter.synced_names) {
    const std::string text = bytes_kept ? inode->now : inode->synced;
    after.names[name] = std::make_shared<Content>(Content{text, text});
  }
  after.synced_names = after.names;
  return after;
}

TEST(FloorFile, KeepsWhatItConfirmedWhereverACrashComes) {
  int crashes = 0;
  bool crashed = true;
  for (int at = 0; crashed; ++at) {
    for (size_t torn = 0; torn < 72; ++torn) {
      Platter platter;
      platter.crash_at = at;
      platter.torn = torn;
      const auto confirmed = Live(platter);
      crashed = platter.calls > at;
      for (const bool names_kept : {true, false}) {
        for (const bool bytes_kept : {true, false}) {
          SCOPED_TRACE(absl::StrCat("call ", at, ", byte ", torn, names_kept, bytes_kept));
          Platter after = After(platter, names_kept, bytes_kept);
          ExpectAllThere(confirmed, after);
          ++crashes;
        }
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(crashes, 5000);
}

TEST(FloorFile, OnARealDiskIsOneProcessesAndOutlivesIt) {
  std::string path = (std::filesystem::temp_directory_path() / "zkrecipes-floors-XXXXXX").string();
  ASSERT_NE(mkdtemp(path.data()), nullptr);
  const std::string file = path + "/floors";
  {
    auto store = OpenFloorFile(file);
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ((*store)->Save("k", {.exclusive = FencingToken(7)}), absl::OkStatus());
    EXPECT_TRUE(absl::IsFailedPrecondition(OpenFloorFile(file).status()));
  }
  auto again = OpenFloorFile(file);
  ASSERT_TRUE(again.ok()) << again.status();
  int loaded = 0;
  EXPECT_EQ((*again)->Load([&](const std::string&, const FencingFloor& floor) {
    EXPECT_EQ(floor.exclusive, FencingToken(7));
    ++loaded;
  }),
            absl::OkStatus());
  EXPECT_EQ(loaded, 1);
  EXPECT_TRUE(absl::IsUnavailable(OpenFloorFile(path + "/none/floors").status()));
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace zkrecipes::internal

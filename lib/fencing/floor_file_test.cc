// SPDX-License-Identifier: Apache-2.0
//
// A floor file on a disk whose crash comes at any call, and at any byte of what was not synced.

#include "lib/fencing/floor_file.h"

#include <stdlib.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "lib/fencing/disk_fixture.h"

namespace zkrecipes::internal {
namespace {

constexpr char kPath[] = "/d/floors";

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
        for (const Unsynced bytes : {Unsynced::kKept, Unsynced::kZero, Unsynced::kGone}) {
          SCOPED_TRACE(absl::StrCat("call ", at, ", byte ", torn, names_kept, bytes));
          Platter after = After(platter, names_kept, bytes);
          ExpectAllThere(confirmed, after);
          ++crashes;
        }
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(crashes, 7500);
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

// SPDX-License-Identifier: Apache-2.0
//
// On the disk of this machine, with processes.

#include "zkrecipes/fenced_file.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

namespace zkrecipes {
namespace {

using ::testing::ElementsAre;

FencingPass PassOf(int64_t token) { return {.token = FencingToken(token)}; }

class FencedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/file";
    ASSERT_EQ(FencedFile(path_).Create(), absl::OkStatus());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_ = (std::filesystem::temp_directory_path() / "zkr-fenced-XXXXXX").string();
  std::string path_;
};

TEST_F(FencedFileTest, RefusesAHolderThatIsOutOfDate) {
  FencedFile file(path_);
  EXPECT_EQ(file.Write(PassOf(7), "a"), absl::OkStatus());
  EXPECT_EQ(file.Write(PassOf(7), "b"), absl::OkStatus());
  const absl::Status stale = file.Write(PassOf(6), "stale");
  EXPECT_TRUE(absl::IsFailedPrecondition(stale)) << stale;
  EXPECT_THAT(std::string(stale.message()), ::testing::HasSubstr(path_));
  const auto read = FencedFile(path_).Read();
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->data, "b");
  EXPECT_EQ(read->floor, FencingFloor{.exclusive = FencingToken(7)});
}

TEST_F(FencedFileTest, WhatWasClaimedIsNotChangedByAnOlderHolder) {
  FencedFile older(path_), newer(path_);
  EXPECT_EQ(older.Write(PassOf(1), "a"), absl::OkStatus());
  const auto claimed = newer.Claim(PassOf(2));
  ASSERT_TRUE(claimed.ok()) << claimed.status();
  EXPECT_EQ(*claimed, "a");
  EXPECT_TRUE(absl::IsFailedPrecondition(older.Write(PassOf(1), "b")));
  EXPECT_TRUE(absl::IsFailedPrecondition(older.Claim(PassOf(1)).status()));
  EXPECT_EQ(*newer.Claim(PassOf(2)), "a");
}

TEST_F(FencedFileTest, AFileThatIsGoneIsNotCreatedByAWrite) {
  std::filesystem::remove(path_);
  FencedFile file(path_);
  EXPECT_TRUE(absl::IsNotFound(file.Write(PassOf(1), "x")));
  EXPECT_TRUE(absl::IsNotFound(file.Claim(PassOf(1)).status()));
  EXPECT_TRUE(absl::IsNotFound(file.Read().status()));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(FencedFileTest, SaysWhyItCannotBeWritten) {
  EXPECT_TRUE(absl::IsUnavailable(FencedFile(folder_ + "/none/file").Create()));
  EXPECT_TRUE(absl::IsInvalidArgument(FencedFile("").Create()));
  EXPECT_TRUE(absl::IsInvalidArgument(FencedFile("").Read().status()));
  EXPECT_TRUE(absl::IsInvalidArgument(FencedFile(path_).Write({}, "x")));
  std::ofstream(path_) << "somebody's own file\n";
  EXPECT_TRUE(absl::IsDataLoss(FencedFile(path_).Write(PassOf(1), "x")));
}

// A child that writes its token 40 times, until it is refused. Its exit code says what went wrong.
int WriteAsAProcess(const std::string& path, int64_t token) {
  FencedFile file(path);
  for (int i = 0; i < 40; ++i) {
    const absl::Status status = file.Write(PassOf(token), absl::StrCat(token));
    if (absl::IsFailedPrecondition(status)) break;
    // On a slow disk it may not have its turn for long.
    if (!status.ok() && !absl::IsUnavailable(status)) return 1;
  }
  return absl::IsFailedPrecondition(file.Write(PassOf(token - 1), "older")) ? 0 : 2;
}

TEST_F(FencedFileTest, AmongProcessesOnlyTheNewestWriteStays) {
  std::vector<pid_t> children;
  for (int64_t token = 2; token <= 5; ++token) {
    children.push_back(fork());
    if (children.back() == 0) _exit(WriteAsAProcess(path_, token));
  }
  int64_t seen = 0;
  std::vector<int> codes;
  for (const pid_t child : children) {
    int code = 0;
    while (waitpid(child, &code, WNOHANG) == 0) {
      const auto read = FencedFile(path_).Read();
      ASSERT_TRUE(read.ok()) << read.status();
      int64_t token = 0;
      if (!read->data.empty()) {
        ASSERT_TRUE(absl::SimpleAtoi(read->data, &token)) << read->data;
      }
      EXPECT_EQ(FencingToken(token), read->floor.exclusive);
      EXPECT_GE(token, seen) << "an older one wrote over a newer one";
      seen = token;
    }
    codes.push_back(WIFEXITED(code) ? WEXITSTATUS(code) : -1);
  }
  EXPECT_THAT(codes, ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(FencedFile(path_).Read()->data, "5");
}

}  // namespace
}  // namespace zkrecipes

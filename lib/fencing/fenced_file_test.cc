// SPDX-License-Identifier: Apache-2.0
//
// On the disk of this machine, with processes.

#include "zkrecipes/fencing/fenced_file.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "lib/fencing/file_on_disk.h"

namespace zkrecipes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

FencingPass PassOf(int64_t token) { return {.token = FencingToken(token)}; }

class FencedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/file";
    ASSERT_EQ(FencedFile(path_).Create(), absl::OkStatus());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  std::string folder_ = (std::filesystem::temp_directory_path() / "zkr-fenced-XXXXXX").string();
  std::string path_;
};

TEST_F(FencedFileTest, AFileThatIsGoneIsNotCreatedByAWrite) {
  std::filesystem::remove(path_);
  FencedFile file(path_);
  EXPECT_TRUE(absl::IsNotFound(file.Write(PassOf(1), "x")));
  EXPECT_TRUE(absl::IsNotFound(file.Claim(PassOf(1)).status()));
  EXPECT_TRUE(absl::IsNotFound(file.Read().status()));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(FencedFileTest, APathWithANulIsRefusedAndTheFileBeforeItStays) {
  ASSERT_EQ(FencedFile(path_).Write(PassOf(5), "x"), absl::OkStatus());
  FencedFile file(path_ + std::string(1, '\0'));
  EXPECT_TRUE(absl::IsInvalidArgument(file.Write(PassOf(6), "y")));
  EXPECT_TRUE(absl::IsInvalidArgument(file.Claim(PassOf(6)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(file.Read().status()));
  EXPECT_TRUE(absl::IsInvalidArgument(file.Create()));
  EXPECT_EQ(FencedFile(path_).Read()->data, "x");
}

TEST_F(FencedFileTest, SaysWhyItCannotBeWritten) {
  EXPECT_TRUE(absl::IsUnavailable(FencedFile(folder_ + "/none/file").Create()));
  EXPECT_TRUE(absl::IsInvalidArgument(FencedFile("").Create()));
  EXPECT_TRUE(absl::IsInvalidArgument(FencedFile("").Read().status()));
  EXPECT_TRUE(absl::IsInvalidArgument(FencedFile(path_).Write({}, "x")));
  std::ofstream(path_) << "somebody's own file\n";
  EXPECT_TRUE(absl::IsDataLoss(FencedFile(path_).Write(PassOf(1), "x")));
}

absl::Status SetFileSizeLimit(rlim_t bytes) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return absl::InternalError("getrlimit");
  limit.rlim_cur = std::min(bytes, limit.rlim_max);
  return setrlimit(RLIMIT_FSIZE, &limit) == 0 ? absl::OkStatus() : absl::InternalError("setrlimit");
}

TEST_F(FencedFileTest, AFailedWriteGivesBackWhatItTookOfAFullDisk) {
  (void)signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit then fails as on a full disk
  ASSERT_EQ(SetFileSizeLimit(4096), absl::OkStatus());
  EXPECT_TRUE(absl::IsUnavailable(FencedFile(path_).Write(PassOf(1), std::string(1 << 20, 'x'))));
  ASSERT_EQ(SetFileSizeLimit(RLIM_INFINITY), absl::OkStatus());
  EXPECT_THAT(Names(), ElementsAre("file"));
  EXPECT_EQ(FencedFile(path_).Write(PassOf(1), "x"), absl::OkStatus());
}

// ---- Other names --------------------------------------------------------------------------------

TEST_F(FencedFileTest, ASymbolicLinkIsRefusedSinceAWriteWouldReplaceIt) {
  ASSERT_EQ(symlink("file", (folder_ + "/link").c_str()), 0);
  ASSERT_EQ(symlink("none", (folder_ + "/dangling").c_str()), 0);
  FencedFile linked(folder_ + "/link");
  EXPECT_TRUE(absl::IsInvalidArgument(linked.Write(PassOf(1), "x")));
  EXPECT_TRUE(absl::IsInvalidArgument(linked.Claim(PassOf(1)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(linked.Read().status()));
  EXPECT_THAT(std::string(linked.Create().message()), HasSubstr(folder_ + "/link: a symbolic"));
  EXPECT_TRUE(absl::IsInvalidArgument(FencedFile(folder_ + "/dangling").Create()));
  EXPECT_THAT(Names(), UnorderedElementsAre("dangling", "file", "link"));
}

TEST_F(FencedFileTest, AFileOfTwoNamesIsRefusedSinceAWriteWouldReplaceItAtOne) {
  const std::string other = folder_ + "/other";
  ASSERT_EQ(link(path_.c_str(), other.c_str()), 0);
  EXPECT_THAT(std::string(FencedFile(path_).Write(PassOf(2), "x").message()),
              HasSubstr(path_ + ": it has 2 names"));
  EXPECT_TRUE(absl::IsInvalidArgument(FencedFile(other).Write(PassOf(1), "stale")));
  EXPECT_TRUE(absl::IsInvalidArgument(FencedFile(other).Claim(PassOf(1)).status()));
  EXPECT_THAT(Names(), UnorderedElementsAre("file", "other"));
  ASSERT_EQ(unlink(other.c_str()), 0);
  EXPECT_EQ(FencedFile(path_).Write(PassOf(2), "x"), absl::OkStatus());
}

TEST_F(FencedFileTest, APathOfAnyFormNamesTheSameFile) {
  ASSERT_EQ(symlink(".", (folder_ + "/here").c_str()), 0);
  EXPECT_EQ(FencedFile(folder_ + "/here//./file").Write(PassOf(2), "x"), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(FencedFile(path_).Write(PassOf(1), "stale")));
  EXPECT_TRUE(absl::IsInvalidArgument(FencedFile(folder_ + "/").Create()));
}

// ---- A process that stands still in the middle of a write ---------------------------------------

enum class At { kJudged, kRename };  // the floor is judged; the last check is behind it

// Forwards to the real folder. A wait for another's lock takes no time.
class StoppedFolder : public fencing::Folder {
 public:
  StoppedFolder(std::unique_ptr<Folder> real, At at, std::function<void()> stands_still)
      : real_(std::move(real)), at_(at), stands_still_(std::move(stands_still)) {}
  absl::StatusOr<std::unique_ptr<fencing::DiskFile>> Open(const std::string& name,
                                                          fencing::OpenFor purpose) override {
    if (at_ == At::kJudged && purpose == fencing::OpenFor::kCreating) stands_still_();
    return real_->Open(name, purpose);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    if (at_ == At::kRename) stands_still_();
    return real_->Rename(from, to);
  }
  absl::Status Link(const std::string& from, const std::string& to) override {
    return real_->Link(from, to);
  }
  absl::Status Remove(const std::string& name) override { return real_->Remove(name); }
  absl::Status Sync() override { return real_->Sync(); }
  void Pause() override {}

 private:
  const std::unique_ptr<Folder> real_;
  const At at_;
  const std::function<void()> stands_still_;
};

// Its last check is behind it when `stands_still` is called.
absl::Status WriteAndStandStill(
    const std::string& path, int64_t token, const std::string& data, At at = At::kRename,
    const std::function<void()>& stands_still = [] {}) {
  internal::FileOnDisk file(
      [&](const std::string& folder) -> absl::StatusOr<std::unique_ptr<fencing::Folder>> {
        auto real = fencing::OpenRealFolder(folder);
        if (!real.ok()) return real.status();
        return std::make_unique<StoppedFolder>(*std::move(real), at, stands_still);
      },
      path);
  return file.Replace(PassOf(token), &data).status();
}

TEST_F(FencedFileTest, OneThatCleansUpLetsNoOlderWriterThrough) {
  absl::Status newer;
  const absl::Status older = WriteAndStandStill(path_, 1, "older", At::kRename, [&] {
    ASSERT_TRUE(std::filesystem::remove(path_ + ".new"));
    newer = WriteAndStandStill(path_, 2, "newer");
  });
  EXPECT_TRUE(absl::IsUnavailable(newer)) << "the older one has the lock still: " << newer;
  EXPECT_THAT(std::string(newer.message()), HasSubstr("safe to end that process"));
  EXPECT_TRUE(absl::IsUnavailable(older)) << older;
  EXPECT_EQ(FencedFile(path_).Read()->data, "") << "neither has written";
  EXPECT_EQ(FencedFile(path_).Write(PassOf(2), "newer"), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(FencedFile(path_).Write(PassOf(1), "older")));
}

TEST_F(FencedFileTest, AFileThatWasReplacedToGetRoundALockIsNotWrittenByTheOneThatHadIt) {
  const absl::Status older = WriteAndStandStill(path_, 1, "older", At::kJudged, [&] {
    std::filesystem::copy_file(path_, folder_ + "/copy");
    std::filesystem::rename(folder_ + "/copy", path_);
    ASSERT_EQ(FencedFile(path_).Write(PassOf(2), "newer"), absl::OkStatus());
  });
  EXPECT_TRUE(absl::IsUnavailable(older)) << older;
  EXPECT_EQ(FencedFile(path_).Read()->data, "newer");
  EXPECT_THAT(Names(), ElementsAre("file"));
}

TEST_F(FencedFileTest, AFolderThatTookTheOthersPlaceIsNotWrittenByAnOlderWriter) {
  const std::string current = folder_ + "/current", next = folder_ + "/next";
  for (const std::string& folder : {folder_ + "/one", folder_ + "/two"}) {
    ASSERT_TRUE(std::filesystem::create_directory(folder));
    ASSERT_EQ(FencedFile(folder + "/file").Create(), absl::OkStatus());
  }
  ASSERT_EQ(symlink("one", current.c_str()), 0);
  const absl::Status older = WriteAndStandStill(current + "/file", 1, "older", At::kRename, [&] {
    ASSERT_EQ(symlink("two", next.c_str()), 0);
    std::filesystem::rename(next, current);
    ASSERT_EQ(FencedFile(current + "/file").Write(PassOf(2), "newer"), absl::OkStatus());
  });
  EXPECT_EQ(FencedFile(current + "/file").Read()->data, "newer");
  EXPECT_EQ(FencedFile(folder_ + "/one/file").Read()->data, "older");
}

TEST_F(FencedFileTest, AChildThatWasForkedInTheMiddleKeepsNoLock) {
  int end[2];
  ASSERT_EQ(pipe(end), 0);
  pid_t child = -1;
  const absl::Status failed = WriteAndStandStill(path_, 1, "x", At::kRename, [&] {
    ASSERT_TRUE(std::filesystem::remove(path_ + ".new"));
    child = fork();
    if (child != 0) return;
    char byte = 0;
    close(end[1]);
    (void)!read(end[0], &byte, 1);
    _exit(0);
  });
  EXPECT_TRUE(absl::IsUnavailable(failed)) << failed;
  EXPECT_EQ(WriteAndStandStill(path_, 1, "x"), absl::OkStatus());
  close(end[1]);
  close(end[0]);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

// ---- Processes ----------------------------------------------------------------------------------

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

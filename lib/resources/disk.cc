// SPDX-License-Identifier: Apache-2.0

#include "lib/resources/disk.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "lib/base/unique_fd.h"

namespace zkrecipes::resources {
namespace {

absl::Status Failed(const char* call, const std::string& path) {
  return absl::UnavailableError(absl::StrCat(call, " ", path, ": ", std::strerror(errno)));
}

class RealFile : public DiskFile {
 public:
  RealFile(std::string path, base::UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  absl::Status Truncate() override {
    return ftruncate(fd_.get(), 0) == 0 ? absl::OkStatus() : Failed("truncate", path_);
  }
  absl::Status Write(absl::string_view bytes) override {
    off_t at = 0;
    while (!bytes.empty()) {
      const ssize_t put = pwrite(fd_.get(), bytes.data(), bytes.size(), at);
      // A signal, or a disk that is nearly full, may cut a write short.
      if (put < 0 && errno != EINTR) return Failed("write", path_);
      if (put <= 0) continue;
      at += put;
      bytes.remove_prefix(static_cast<size_t>(put));
    }
    return absl::OkStatus();
  }
  // The size is synced too, if it has changed: a shorter file than was written has lost its end.
  absl::Status Sync() override {
    return fdatasync(fd_.get()) == 0 ? absl::OkStatus() : Failed("sync", path_);
  }
  absl::StatusOr<bool> TryLock() override {
    // Not fcntl's lock, which a process loses when it closes any descriptor of the file.
    if (flock(fd_.get(), LOCK_EX | LOCK_NB) == 0) return true;
    if (errno == EWOULDBLOCK || errno == EINTR) return false;
    return Failed("lock", path_);
  }
  absl::StatusOr<bool> IsAt(const std::string& path) override {
    struct stat own = {}, named = {};
    if (fstat(fd_.get(), &own) != 0) return Failed("stat", path_);
    if (stat(path.c_str(), &named) != 0) {
      if (errno == ENOENT) return false;
      return Failed("stat", path);
    }
    return own.st_dev == named.st_dev && own.st_ino == named.st_ino;
  }

 private:
  const std::string path_;
  const base::UniqueFd fd_;
};

class Real : public Disk {
 public:
  absl::StatusOr<std::unique_ptr<DiskFile>> Open(const std::string& path) override {
    base::UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd.valid()) return Failed("open", path);
    return std::make_unique<RealFile>(path, std::move(fd));
  }
  absl::StatusOr<std::string> ReadAll(const std::string& path) override {
    const base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid() && errno == ENOENT) {
      return absl::NotFoundError(absl::StrCat("open ", path, ": there is no such file"));
    }
    if (!fd.valid()) return Failed("open", path);
    std::string text;
    char bytes[65536];
    for (;;) {
      const ssize_t got = read(fd.get(), bytes, sizeof(bytes));
      if (got == 0) return text;
      if (got < 0 && errno != EINTR) return Failed("read", path);
      if (got > 0) text.append(bytes, static_cast<size_t>(got));
    }
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    return std::rename(from.c_str(), to.c_str()) == 0 ? absl::OkStatus() : Failed("rename", from);
  }
  // A rename is on the disk only once its folder is.
  absl::Status SyncFolderOf(const std::string& path) override {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    const base::UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return fd.valid() && fsync(fd.get()) == 0 ? absl::OkStatus() : Failed("sync", folder);
  }
  void Pause() override { absl::SleepFor(kDiskPause); }
};

}  // namespace

std::unique_ptr<Disk> RealDisk() { return std::make_unique<Real>(); }

}  // namespace zkrecipes::resources

// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fenced_file.h"

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

#include "lib/base/random.h"
#include "lib/base/unique_fd.h"
#include "lib/fencing/file_on_disk.h"

namespace zkrecipes {
namespace fencing {
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

}  // namespace fencing

namespace internal {
namespace {

// For which a process that stands still in the middle of a write makes the others wait.
constexpr absl::Duration kPatience = absl::Seconds(10);

}  // namespace

FileOnDisk::FileOnDisk(std::unique_ptr<fencing::Disk> disk, std::string path)
    : disk_(std::move(disk)), path_(std::move(path)), next_path_(path_ + ".new") {}

absl::StatusOr<fencing::FencedBody> FileOnDisk::Read() const {
  if (path_.empty()) return absl::InvalidArgumentError("the path of a fenced file is empty");
  const auto text = disk_->ReadAll(path_);
  if (!text.ok()) return text.status();
  auto body = fencing::ReadFencedBody(*text);
  if (!body.ok()) return absl::DataLossError(absl::StrCat(path_, ": ", body.status().message()));
  return body;
}

absl::StatusOr<std::unique_ptr<fencing::DiskFile>> FileOnDisk::OpenNext() {
  if (path_.empty()) return absl::InvalidArgumentError("the path of a fenced file is empty");
  for (absl::Duration waited; waited < kPatience; waited += fencing::kDiskPause) {
    auto next = disk_->Open(next_path_);
    if (!next.ok()) return next.status();
    const auto locked = (*next)->TryLock();
    if (!locked.ok()) return locked.status();
    if (!*locked) {
      disk_->Pause();
      continue;
    }
    // The one that had the lock has renamed this file away: whoever goes on would write into what
    // is the fenced file by now.
    const auto named = (*next)->IsAt(next_path_);
    if (!named.ok()) return named.status();
    if (*named) return next;
  }
  return absl::UnavailableError(absl::StrCat(
      "lock ", next_path_, ": another process has had it for ", absl::FormatDuration(kPatience)));
}

absl::Status FileOnDisk::Publish(fencing::DiskFile& next, const fencing::FencedBody& body) {
  // A crash may have left a part of another write.
  if (absl::Status status = next.Truncate(); !status.ok()) return status;
  if (absl::Status status = next.Write(fencing::WriteFencedBody(body)); !status.ok()) return status;
  // Before the rename: a crash must not leave the name with a file whose bytes are not there.
  if (absl::Status status = next.Sync(); !status.ok()) return status;
  if (absl::Status status = disk_->Rename(next_path_, path_); !status.ok()) return status;
  return disk_->SyncFolderOf(path_);
}

absl::Status FileOnDisk::Create() {
  const auto next = OpenNext();
  if (!next.ok()) return next.status();
  // Under the lock, so of two that create one finds the other's.
  const auto there = disk_->ReadAll(path_);
  if (there.ok()) return absl::AlreadyExistsError(absl::StrCat(path_, ": it exists already"));
  if (!absl::IsNotFound(there.status())) return there.status();
  return Publish(**next, {.write = base::NewGuid()});
}

absl::StatusOr<fencing::FencedBody> FileOnDisk::Replace(const FencingPass& pass,
                                                        const std::string* data) {
  const auto next = OpenNext();
  if (!next.ok()) return next.status();
  // Under the lock: no other process can replace the file between judging and renaming.
  auto body = Read();
  if (!body.ok()) return body.status();
  const FencingFloor floor = body->floor;
  if (absl::Status status = body->floor.Admit(pass); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(path_, ": ", status.message()));
  }
  if (data == nullptr && body->floor == floor) {
    // Its writer may have crashed before it was on the disk for sure.
    if (absl::Status status = disk_->SyncFolderOf(path_); !status.ok()) return status;
    return body;
  }
  if (data != nullptr) body->data = *data;
  // No two bodies are equal, so a reader can tell whether the file was written again.
  body->write = base::NewGuid();
  if (absl::Status status = Publish(**next, *body); !status.ok()) return status;
  return body;
}

}  // namespace internal

FencedFile::FencedFile(const std::string& path)
    : file_(std::make_unique<internal::FileOnDisk>(fencing::RealDisk(), path)) {}
FencedFile::~FencedFile() = default;
FencedFile::FencedFile(FencedFile&&) noexcept = default;
FencedFile& FencedFile::operator=(FencedFile&&) noexcept = default;

absl::Status FencedFile::Create() { return file_->Create(); }

absl::Status FencedFile::Write(const FencingPass& pass, const std::string& data) {
  return file_->Replace(pass, &data).status();
}

absl::StatusOr<std::string> FencedFile::Claim(const FencingPass& pass) {
  auto body = file_->Replace(pass, nullptr);
  if (!body.ok()) return body.status();
  return std::move(body->data);
}

absl::StatusOr<FencedData> FencedFile::Read() const {
  auto body = file_->Read();
  if (!body.ok()) return body.status();
  return FencedData{std::move(body->data), body->floor};
}

}  // namespace zkrecipes

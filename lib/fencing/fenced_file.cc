// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fencing/fenced_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
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
  // `path` is for messages. `folder` outlives it.
  RealFile(std::string path, int folder, base::UniqueFd fd)
      : path_(std::move(path)), folder_(folder), fd_(std::move(fd)) {}
  // A child that was forked meanwhile without exec has a copy of the descriptor, with which it
  // would keep the lock for as long as it lives.
  ~RealFile() override { flock(fd_.get(), LOCK_UN); }

  absl::StatusOr<std::string> ReadAll() override {
    std::string text;
    char bytes[65536];
    for (;;) {
      const ssize_t got = pread(fd_.get(), bytes, sizeof(bytes), static_cast<off_t>(text.size()));
      if (got == 0) return text;
      if (got < 0 && errno != EINTR) return Failed("read", path_);
      if (got > 0) text.append(bytes, static_cast<size_t>(got));
    }
  }
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
  absl::StatusOr<bool> IsAt(const std::string& name) override {
    struct stat own = {}, named = {};
    if (fstat(fd_.get(), &own) != 0) return Failed("stat", path_);
    if (fstatat(folder_, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return false;
      return Failed("stat", name);
    }
    return own.st_dev == named.st_dev && own.st_ino == named.st_ino;
  }
  absl::StatusOr<int> Names() override {
    struct stat own = {};
    if (fstat(fd_.get(), &own) != 0) return Failed("stat", path_);
    return static_cast<int>(own.st_nlink);
  }

 private:
  const std::string path_;
  const int folder_;
  const base::UniqueFd fd_;
};

// By the folder's descriptor: a path may lead to another folder from one call to the next.
class RealFolder : public Folder {
 public:
  RealFolder(std::string path, base::UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  absl::StatusOr<std::unique_ptr<DiskFile>> Open(const std::string& name,
                                                 OpenFor purpose) override {
    const int access = purpose == OpenFor::kReading ? O_RDONLY : O_RDWR;
    const int create = purpose == OpenFor::kCreating ? O_CREAT : 0;
    base::UniqueFd fd(
        openat(fd_.get(), name.c_str(), access | create | O_NOFOLLOW | O_CLOEXEC, 0600));
    const std::string path = path_ + name;
    if (fd.valid()) return std::make_unique<RealFile>(path, fd_.get(), std::move(fd));
    if (errno == ENOENT) {
      return absl::NotFoundError(absl::StrCat("open ", path, ": there is no such file"));
    }
    if (errno == ELOOP) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": a symbolic link, which the next write would replace: name the file itself"));
    }
    return Failed("open", path);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    return Done("rename", from, renameat(fd_.get(), from.c_str(), fd_.get(), to.c_str()));
  }
  absl::Status Link(const std::string& from, const std::string& to) override {
    const int linked = linkat(fd_.get(), from.c_str(), fd_.get(), to.c_str(), 0);
    if (linked != 0 && errno == EEXIST) return absl::AlreadyExistsError(path_ + to);
    if (linked != 0 && (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS)) {
      return absl::UnimplementedError(absl::StrCat(
          path_, to, ": the file system makes no hard link, by which it gets its name: ",
          std::strerror(errno)));
    }
    return Done("link", from, linked);
  }
  absl::Status Remove(const std::string& name) override {
    const int removed = unlinkat(fd_.get(), name.c_str(), 0);
    return removed != 0 && errno == ENOENT ? absl::OkStatus() : Done("remove", name, removed);
  }
  absl::Status Sync() override { return Done("sync", "", fsync(fd_.get())); }
  void Pause() override { absl::SleepFor(kDiskPause); }

 private:
  absl::Status Done(const char* call, const std::string& name, int result) const {
    return result == 0 ? absl::OkStatus() : Failed(call, path_ + name);
  }

  const std::string path_;
  const base::UniqueFd fd_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Folder>> OpenRealFolder(const std::string& path) {
  base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return Failed("open", path);
  return std::make_unique<RealFolder>(path, std::move(fd));
}

}  // namespace fencing

namespace internal {
namespace {

using fencing::DiskFile;
using fencing::FencedBody;
using fencing::Folder;
using fencing::OpenFor;

// For which a process that stands still in the middle of a write makes the others wait.
constexpr absl::Duration kPatience = absl::Seconds(10);

size_t FolderSize(const std::string& path) { return path.rfind('/') + 1; }

// Only a process that does not keep to the locks can have changed it, or a lost lock (NFS).
absl::Status ExpectAt(DiskFile& file, const std::string& name) {
  const auto there = file.IsAt(name);
  if (!there.ok()) return there.status();
  if (*there) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(name, ": it was removed or replaced while it was locked; nothing was written"));
}

}  // namespace

FileOnDisk::FileOnDisk(fencing::OpenFolder open, const std::string& path)
    : open_(std::move(open)),
      path_(path),
      folder_(FolderSize(path) == 0 ? "./" : path.substr(0, FolderSize(path))),
      name_(path.substr(FolderSize(path))),
      next_name_(name_ + ".new") {}

absl::StatusOr<std::unique_ptr<Folder>> FileOnDisk::Enter() const {
  // The system reads a path up to a NUL: NAME.new would be the file itself.
  if (!name_.empty() && !absl::StrContains(path_, '\0')) return open_(folder_);
  return absl::InvalidArgumentError(
      absl::StrCat("the path of a fenced file names no file: '", absl::CHexEscape(path_), "'"));
}

absl::StatusOr<FencedBody> FileOnDisk::Parse(DiskFile& file) const {
  const auto text = file.ReadAll();
  if (!text.ok()) return text.status();
  auto body = fencing::ReadFencedBody(*text);
  if (!body.ok()) return absl::DataLossError(absl::StrCat(path_, ": ", body.status().message()));
  return body;
}

absl::StatusOr<FencedBody> FileOnDisk::Read() const {
  const auto folder = Enter();
  if (!folder.ok()) return folder.status();
  const auto file = (*folder)->Open(name_, OpenFor::kReading);
  if (!file.ok()) return file.status();
  return Parse(**file);
}

absl::StatusOr<std::unique_ptr<DiskFile>> FileOnDisk::Lock(Folder& folder, const std::string& name,
                                                           OpenFor purpose) const {
  for (absl::Duration waited; waited < kPatience; waited += fencing::kDiskPause) {
    auto file = folder.Open(name, purpose);
    if (!file.ok()) return file.status();
    const auto locked = (*file)->TryLock();
    if (!locked.ok()) return locked.status();
    if (!*locked) {
      folder.Pause();
      continue;
    }
    // The process that had the lock may have taken the file from its name: it is not the one to
    // judge by any more.
    const auto named = (*file)->IsAt(name);
    if (!named.ok()) return named.status();
    if (*named) return file;
  }
  return absl::UnavailableError(absl::StrCat(
      "lock ", folder_, name, ": another process has had it for ", absl::FormatDuration(kPatience),
      ". It is safe to end that process (fuser shows it), not to remove or replace the file"));
}

absl::Status FileOnDisk::Publish(Folder& folder, const FencedBody& body,
                                 absl::FunctionRef<absl::Status()> publish) const {
  const auto next = Lock(folder, next_name_, OpenFor::kCreating);
  if (!next.ok()) return next.status();
  absl::Status status = (*next)->Truncate();  // a crash may have left a part of another write
  if (status.ok()) status = (*next)->Write(fencing::WriteFencedBody(body));
  // Before it has its name: a crash must not leave the name with a file whose bytes are not there.
  if (status.ok()) status = (*next)->Sync();
  if (status.ok()) status = ExpectAt(**next, next_name_);
  if (status.ok()) status = publish();
  if (status.ok()) return folder.Sync();
  // A full disk gets back what this write took of it.
  if (const auto named = (*next)->IsAt(next_name_); named.ok() && *named) {
    (void)folder.Remove(next_name_);
  }
  return status;
}

absl::Status FileOnDisk::ExpectNone(Folder& folder) const {
  const auto there = folder.Open(name_, OpenFor::kReading);
  if (absl::IsNotFound(there.status())) return absl::OkStatus();
  if (!there.ok()) return there.status();
  return absl::AlreadyExistsError(absl::StrCat(path_, ": it exists already"));
}

absl::Status FileOnDisk::Create() {
  const auto folder = Enter();
  if (!folder.ok()) return folder.status();
  // Before NAME.new is touched, which belongs to the writers of a file that exists.
  if (absl::Status status = ExpectNone(**folder); !status.ok()) return status;
  // A link, unlike a rename, replaces nothing: of two that create it one finds the other's. If the
  // process stops after it, the file has two names until the next write removes the second.
  return Publish(**folder, {.write = base::NewGuid()}, [&]() -> absl::Status {
    absl::Status status = (*folder)->Link(next_name_, name_);
    return status.ok() ? (*folder)->Remove(next_name_) : status;
  });
}

absl::StatusOr<FencedBody> FileOnDisk::Replace(const FencingPass& pass, const std::string* data) {
  const auto folder = Enter();
  if (!folder.ok()) return folder.status();
  const auto file = Lock(**folder, name_, OpenFor::kWriting);
  if (!file.ok()) return file.status();
  // Under the lock: no other process can replace the file between judging and renaming.
  auto body = Parse(**file);
  if (!body.ok()) return body.status();
  const FencingFloor floor = body->floor;
  if (absl::Status status = body->floor.Admit(pass); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(path_, ": ", status.message()));
  }
  // What a crash has left: a part of a write, or the second name of a file just created.
  if (absl::Status status = (*folder)->Remove(next_name_); !status.ok()) return status;
  const auto names = (*file)->Names();
  if (!names.ok()) return names.status();
  if (*names > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        path_, ": it has ", *names, " names (hard links), and a write would replace it at one"));
  }
  if (data == nullptr && body->floor == floor) {
    // Its writer may have crashed before it was on the disk for sure.
    if (absl::Status status = (*folder)->Sync(); !status.ok()) return status;
    return body;
  }
  if (data != nullptr) body->data = *data;
  // No two bodies are equal, so a reader can tell whether the file was written again.
  body->write = base::NewGuid();
  absl::Status status = Publish(**folder, *body, [&]() -> absl::Status {
    absl::Status still = ExpectAt(**file, name_);
    return still.ok() ? (*folder)->Rename(next_name_, name_) : still;
  });
  if (!status.ok()) return status;
  return body;
}

}  // namespace internal

FencedFile::FencedFile(const std::string& path)
    : file_(std::make_unique<internal::FileOnDisk>(&fencing::OpenRealFolder, path)) {}
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

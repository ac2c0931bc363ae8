// SPDX-License-Identifier: Apache-2.0

#include "testing/local/owned_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace zkrecipes::testing {
namespace {

namespace fs = std::filesystem;

absl::Status Failed(const std::string& what, const std::string& path, int error) {
  const std::string message = absl::StrCat(what, " ", path, ": ", strerror(error));
  if (error == ENOENT) return absl::NotFoundError(message);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(message);
  if (error == ENOTDIR) return absl::FailedPreconditionError(message);
  return absl::InternalError(message);
}

// Whether this call made it.
absl::StatusOr<bool> MakeDirectory(const std::string& path) {
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  if (mkdir(path.c_str(), 0700) == 0) return true;
  if (errno == EEXIST) return false;
  return Failed("cannot make", path, errno);
}

// Whoever had the lock before may have removed the directory, and somebody may have made it anew.
bool IsStillAt(const std::string& path, int fd) {
  struct stat by_name, by_fd;
  return stat(path.c_str(), &by_name) == 0 && fstat(fd, &by_fd) == 0 &&
         by_name.st_ino == by_fd.st_ino && by_name.st_dev == by_fd.st_dev;
}

}  // namespace

absl::StatusOr<OwnedDirectory> OwnedDirectory::Lock(const std::string& given, bool make) {
  const std::string path = fs::absolute(given).lexically_normal().string();
  for (;;) {
    absl::StatusOr<bool> made = make ? MakeDirectory(path) : false;
    if (!made.ok()) return made.status();
    base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd.get() < 0 && make && errno == ENOENT) continue;
    if (fd.get() < 0) return Failed("cannot open", path, errno);
    struct stat info;
    if (fstat(fd.get(), &info) != 0) return Failed("cannot look at", path, errno);
    if (info.st_uid != geteuid()) {
      return absl::PermissionDeniedError(absl::StrCat(path, " belongs to another user"));
    }
    while (flock(fd.get(), LOCK_EX) != 0) {
      if (errno != EINTR) return Failed("cannot lock", path, errno);
    }
    if (IsStillAt(path, fd.get())) return OwnedDirectory(path, std::move(fd), *made);
  }
}

}  // namespace zkrecipes::testing

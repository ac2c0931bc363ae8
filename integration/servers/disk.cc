// SPDX-License-Identifier: Apache-2.0

#include "integration/servers/disk.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace zkrecipes::faults {
namespace {

using base::UniqueFd;

constexpr char kSize[] = "size";
constexpr char kRoomy[] = "1g";  // a limit: memory is taken as files are written

absl::Status Failed(const char* what) {
  return absl::InternalError(
      absl::StrCat(what, ": ", strerror(errno)));  // NOLINT(concurrency-mt-unsafe)
}

bool SetSize(int fd, const std::string& size) {
  return fsconfig(fd, FSCONFIG_SET_STRING, kSize, size.c_str(), 0) == 0;
}

}  // namespace

absl::StatusOr<Disk> Disk::Make() {
  const UniqueFd context(fsopen("tmpfs", FSOPEN_CLOEXEC));
  if (context.get() < 0 || !SetSize(context.get(), kRoomy) ||
      fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return Failed("cannot make a file system in memory");
  }
  UniqueFd mount(fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
  if (mount.get() < 0) return Failed("cannot open a file system in memory");
  return Disk(std::move(mount));
}

std::string Disk::path() const { return absl::StrCat("/proc/", getpid(), "/fd/", mount_.get()); }

absl::Status Disk::Fill() {
  struct statvfs now {};
  if (fstatvfs(mount_.get(), &now) != 0) return Failed("cannot ask how full a disk is");
  const uint64_t used = (now.f_blocks - now.f_bfree) * now.f_frsize;
  return Resize(absl::StrCat(std::max<uint64_t>(used, now.f_frsize)));  // 0 would be no limit
}

absl::Status Disk::Free() { return Resize(kRoomy); }

absl::Status Disk::Resize(const std::string& size) {
  const UniqueFd context(fspick(mount_.get(), "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC));
  if (context.get() >= 0 && SetSize(context.get(), size) &&
      fsconfig(context.get(), FSCONFIG_CMD_RECONFIGURE, nullptr, nullptr, 0) == 0) {
    return absl::OkStatus();
  }
  return Failed("cannot change the size of a file system in memory");
}

}  // namespace zkrecipes::faults

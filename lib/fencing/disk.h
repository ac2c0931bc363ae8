// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_FENCING_DISK_H_
#define ZKRECIPES_LIB_FENCING_DISK_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace zkrecipes::internal {

// What a floor file asks of a file system: a seam for tests, in which a crash comes anywhere. Errors are
// Unavailable, and name file and call.
class DiskFile {
 public:
  virtual ~DiskFile() = default;
  virtual absl::StatusOr<std::string> Read() = 0;
  virtual absl::Status Write(size_t at, absl::string_view bytes) = 0;
  virtual absl::Status Truncate(size_t size) = 0;
  virtual absl::Status Sync() = 0;
};

class Disk {
 public:
  virtual ~Disk() = default;
  // Created if it does not exist.
  virtual absl::StatusOr<std::unique_ptr<DiskFile>> Open(const std::string& path) = 0;
  // FailedPrecondition: it has a lock already. The lock ends with this object, or with the process.
  virtual absl::Status Lock(const std::string& path) = 0;
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  virtual absl::Status SyncFolderOf(const std::string& path) = 0;
};

std::unique_ptr<Disk> RealDisk();

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_FENCING_DISK_H_

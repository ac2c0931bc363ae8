// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_RESOURCES_DISK_H_
#define ZKRECIPES_LIB_RESOURCES_DISK_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace zkrecipes::resources {

inline constexpr absl::Duration kDiskPause = absl::Milliseconds(5);

// The calls that a fenced file makes of a file system: a seam for tests, in which a crash comes
// anywhere, and others act between any two calls. Errors are Unavailable, and name file and call.
class DiskFile {
 public:
  virtual ~DiskFile() = default;
  virtual absl::Status Truncate() = 0;                      // to nothing
  virtual absl::Status Write(absl::string_view bytes) = 0;  // at the beginning
  virtual absl::Status Sync() = 0;
  // Locked for this opening alone, among all of this file in any process; until it is closed.
  // False: another one has the lock.
  virtual absl::StatusOr<bool> TryLock() = 0;
  // Whether `path` names this file, and not one that took its place.
  virtual absl::StatusOr<bool> IsAt(const std::string& path) = 0;
};

class Disk {
 public:
  virtual ~Disk() = default;
  // Created if it does not exist.
  virtual absl::StatusOr<std::unique_ptr<DiskFile>> Open(const std::string& path) = 0;
  // The whole file, whatever becomes of its name meanwhile. NotFound: there is none.
  virtual absl::StatusOr<std::string> ReadAll(const std::string& path) = 0;
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  virtual absl::Status SyncFolderOf(const std::string& path) = 0;
  // For kDiskPause, while another one has a lock.
  virtual void Pause() = 0;
};

std::unique_ptr<Disk> RealDisk();

}  // namespace zkrecipes::resources

#endif  // ZKRECIPES_LIB_RESOURCES_DISK_H_

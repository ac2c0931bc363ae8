// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_FENCING_FILE_ON_DISK_H_
#define ZKRECIPES_LIB_FENCING_FILE_ON_DISK_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

#include "lib/fencing/fenced_body.h"

namespace zkrecipes {
namespace fencing {

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

}  // namespace fencing

namespace internal {

// A FencedFile on a disk, real or fake. `path`.new is both what is written and the lock: whoever
// has locked the file that has this name may read `path`, judge, and rename it over `path`. That
// takes the name away, so whoever waited for the lock finds that it is not that of `path`.new any
// more, and begins anew. Nobody else renames a `path`.new, so it is the locked one until then. No
// file stays but one, after any crash.
class FileOnDisk {
 public:
  FileOnDisk(std::unique_ptr<fencing::Disk> disk, std::string path);

  absl::Status Create();
  // Claims if there is no data. Returns what is in the file then.
  absl::StatusOr<fencing::FencedBody> Replace(const FencingPass& pass, const std::string* data);
  absl::StatusOr<fencing::FencedBody> Read() const;

 private:
  // Locked, under its name.
  absl::StatusOr<std::unique_ptr<fencing::DiskFile>> OpenNext();
  absl::Status Publish(fencing::DiskFile& next, const fencing::FencedBody& body);

  const std::unique_ptr<fencing::Disk> disk_;
  const std::string path_;
  const std::string next_path_;
};

}  // namespace internal
}  // namespace zkrecipes

#endif  // ZKRECIPES_LIB_FENCING_FILE_ON_DISK_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_FENCING_FILE_ON_DISK_H_
#define ZKRECIPES_LIB_FENCING_FILE_ON_DISK_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

#include "lib/fencing/fenced_body.h"

namespace zkrecipes {
namespace fencing {

inline constexpr absl::Duration kDiskPause = absl::Milliseconds(5);

// The calls that a fenced file makes of a file system: a seam for tests, in which a crash comes
// anywhere, and others act between any two calls. Other errors are Unavailable, and name file and
// call.
class DiskFile {
 public:
  virtual ~DiskFile() = default;
  virtual absl::StatusOr<std::string> ReadAll() = 0;
  virtual absl::Status Truncate() = 0;                      // to nothing
  virtual absl::Status Write(absl::string_view bytes) = 0;  // at the beginning
  virtual absl::Status Sync() = 0;
  // Locked for this opening alone, among all of this file in any process; until it is destroyed.
  // False: another one has the lock.
  virtual absl::StatusOr<bool> TryLock() = 0;
  // Whether `name` names this file, and not one that took its place.
  virtual absl::StatusOr<bool> IsAt(const std::string& name) = 0;
  virtual absl::StatusOr<int> Names() = 0;  // how many names it has, in any folder
};

enum class OpenFor { kReading, kWriting, kCreating };

// One folder, whatever becomes of its path meanwhile.
class Folder {
 public:
  virtual ~Folder() = default;
  // NotFound: there is none, unless it is to be created. InvalidArgument: a symbolic link.
  virtual absl::StatusOr<std::unique_ptr<DiskFile>> Open(const std::string& name, OpenFor) = 0;
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  virtual absl::Status Link(const std::string& from, const std::string& to) = 0;  // AlreadyExists
  virtual absl::Status Remove(const std::string& name) = 0;  // OK if there is none
  virtual absl::Status Sync() = 0;
  // For kDiskPause, while another one has a lock.
  virtual void Pause() = 0;
};
using OpenFolder = std::function<absl::StatusOr<std::unique_ptr<Folder>>(const std::string& path)>;

absl::StatusOr<std::unique_ptr<Folder>> OpenRealFolder(const std::string& path);

}  // namespace fencing

namespace internal {

// A FencedFile on a disk, real or fake. The lock is that of the file itself: the process that has
// locked the file of this name may judge, and rename NAME.new over it. That takes the locked file
// away, so a process that waited for its lock finds another file at the name, and begins anew.
// There is no lock file that could be removed while it is needed, and no second name can have a
// lock of its own: a symbolic link is not followed, and a file of two names is not replaced.
//
// NAME.new is written by the process that has the lock, or by one that creates the file; these take
// turns by its own lock. It is a file of its own until it is complete. If a crash leaves it, the
// next write removes it.
class FileOnDisk {
 public:
  FileOnDisk(fencing::OpenFolder open, const std::string& path);

  absl::Status Create();
  // Claims if there is no data. Returns what is in the file then.
  absl::StatusOr<fencing::FencedBody> Replace(const FencingPass& pass, const std::string* data);
  absl::StatusOr<fencing::FencedBody> Read() const;

 private:
  absl::StatusOr<std::unique_ptr<fencing::Folder>> Enter() const;
  // Locked, under its name.
  absl::StatusOr<std::unique_ptr<fencing::DiskFile>> Lock(fencing::Folder& folder,
                                                          const std::string& name,
                                                          fencing::OpenFor purpose) const;
  absl::StatusOr<fencing::FencedBody> Parse(fencing::DiskFile& file) const;
  // NotFound: there is none.
  absl::Status ExpectNone(fencing::Folder& folder) const;
  // Writes NAME.new, and publishes it; frees it if that fails.
  absl::Status Publish(fencing::Folder& folder, const fencing::FencedBody& body,
                       absl::FunctionRef<absl::Status()> publish) const;

  const fencing::OpenFolder open_;
  const std::string path_, folder_, name_, next_name_;
};

}  // namespace internal
}  // namespace zkrecipes

#endif  // ZKRECIPES_LIB_FENCING_FILE_ON_DISK_H_

// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_RESOURCES_FILE_ON_DISK_H_
#define ZKRECIPES_LIB_RESOURCES_FILE_ON_DISK_H_

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "lib/resources/disk.h"
#include "lib/resources/fenced_body.h"

namespace zkrecipes::internal {

// A FencedFile on a disk, real or fake. `path`.new is both what is written and the lock: whoever
// has locked the file that has this name may read `path`, judge, and rename it over `path`. That
// takes the name away, so whoever waited for the lock finds that it is not that of `path`.new any
// more, and begins anew. Nobody else renames a `path`.new, so it is the locked one until then. No
// file stays but one, after any crash.
class FileOnDisk {
 public:
  FileOnDisk(std::unique_ptr<resources::Disk> disk, std::string path);

  absl::Status Create();
  // Claims if there is no data. Returns what is in the file then.
  absl::StatusOr<resources::FencedBody> Replace(const FencingPass& pass, const std::string* data);
  absl::StatusOr<resources::FencedBody> Read() const;

 private:
  // Locked, under its name.
  absl::StatusOr<std::unique_ptr<resources::DiskFile>> OpenNext();
  absl::Status Publish(resources::DiskFile& next, const resources::FencedBody& body);

  const std::unique_ptr<resources::Disk> disk_;
  const std::string path_;
  const std::string next_path_;
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_RESOURCES_FILE_ON_DISK_H_

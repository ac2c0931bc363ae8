// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_FENCING_FLOOR_FILE_H_
#define ZKRECIPES_LIB_FENCING_FLOOR_FILE_H_

#include <map>
#include <memory>
#include <string>

#include "lib/fencing/disk.h"
#include "zkrecipes/fencing_floor.h"

namespace zkrecipes::internal {

// A floor log (floor_log.h) in the file `path`, with `path`.lock beside it, and `path`.new while it is
// being rewritten.
class FloorFile : public FloorStore {
 public:
  // As OpenFloorFile. The file is rewritten when it has twice as many records as it had floors, and
  // `spare` more.
  static absl::StatusOr<std::unique_ptr<FloorStore>> Open(std::unique_ptr<Disk> disk,
                                                          const std::string& path,
                                                          size_t spare = 10'000);

  absl::Status Load(absl::FunctionRef<void(const std::string&, const FencingFloor&)> each) override;
  absl::Status Save(const std::string& key, const FencingFloor& floor) override;
  absl::Status Forget(const std::string& key) override;

 private:
  FloorFile(std::unique_ptr<Disk> disk, std::string path, size_t spare);
  absl::Status Begin();
  absl::Status Read();
  absl::Status Append(const std::string& record);
  absl::Status Mend();
  absl::Status Rewrite();

  const std::unique_ptr<Disk> disk_;
  const std::string path_;
  const size_t spare_;
  std::unique_ptr<DiskFile> file_;
  std::map<std::string, FencingFloor> floors_;  // as read; until Load
  size_t end_ = 0;                              // of the whole records
  bool frayed_ = false;                         // there may be something behind the end
  bool renamed_ = false;                        // a crash might bring the old file back
  size_t records_ = 0;
  size_t due_ = 0;  // at so many records it is rewritten
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_FENCING_FLOOR_FILE_H_

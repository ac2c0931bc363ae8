// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_DISK_H_
#define ZKRECIPES_INTEGRATION_SERVERS_DISK_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "lib/base/unique_fd.h"


namespace zkrecipes::faults {

// A file system in memory, which can be full. It is mounted nowhere: it is a descriptor's, so it
// goes with this process and those that have files of it open. Not thread-safe.
class Disk {
 public:
  // REQUIRES: root.
  static absl::StatusOr<Disk> Make();

  std::string path() const;  // for this process and others: "/proc/123/fd/7"

  // It has no room for more than it holds; it has room again. Idempotent.
  absl::Status Fill();
  absl::Status Free();

 private:
  explicit Disk(base::UniqueFd mount) : mount_(std::move(mount)) {}
  absl::Status Resize(const std::string& size);

  base::UniqueFd mount_;
};

}  // namespace zkrecipes::faults

#endif  // ZKRECIPES_INTEGRATION_SERVERS_DISK_H_

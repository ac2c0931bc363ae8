// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_LOCAL_OWNED_DIRECTORY_H_
#define ZKRECIPES_TESTING_LOCAL_OWNED_DIRECTORY_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"

#include "lib/base/unique_fd.h"


namespace zkrecipes::testing {

// A directory of this user's, locked against other processes while the object lives. The kernel
// gives the lock back however the process ends.
class OwnedDirectory {
 public:
  // Makes it (for this user only) if `make` and it is absent. Blocks while another process has it.
  //   NotFound          it is absent and not to be made
  //   PermissionDenied  it is another user's (in /tmp anybody could have made it)
  static absl::StatusOr<OwnedDirectory> Lock(const std::string& path, bool make);

  const std::string& path() const { return path_; }  // absolute
  bool was_made() const { return was_made_; }        // by Lock, just now

 private:
  OwnedDirectory(std::string path, base::UniqueFd fd, bool was_made)
      : path_(std::move(path)), fd_(std::move(fd)), was_made_(was_made) {}

  std::string path_;
  base::UniqueFd fd_;
  bool was_made_;
};

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_OWNED_DIRECTORY_H_

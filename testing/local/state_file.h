// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_LOCAL_STATE_FILE_H_
#define ZKRECIPES_TESTING_LOCAL_STATE_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "lib/base/unique_fd.h"
#include "testing/local/server_files.h"

namespace zkrecipes::testing {

// A directory of this user's, locked against other processes while the object lives. The kernel
// releases the lock however the process ends.
class OwnedDirectory {
 public:
  // Makes it, for this user only, if it is absent and `make`. Blocks while another process has it.
  //   InvalidArgument   it has no name
  //   NotFound          it is absent and not to be made
  //   PermissionDenied  it is another user's (in /tmp anyone could have made it)
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

// The record of an ensemble that outlives the command that started it: the file `ensemble` in its
// directory.
//
//   zkr-ensemble 1 made               version; whether the directory was made for it or given
//   20001 20002 20003 4711 81234      one line a server: client, quorum and election port, pid and
//   20004 20005 20006 0 0             start time (see StartTimeOf), zeros if it was not started
struct RecordedServer {
  ServerSpec spec;
  pid_t pid = 0;
  uint64_t start_time = 0;
};

struct EnsembleState {
  bool directory_made = false;
  std::vector<RecordedServer> servers;

  std::vector<ServerSpec> Specs() const;
};

// NotFound if there is no such file; DataLoss if it says something else.
absl::StatusOr<EnsembleState> ReadState(const std::string& directory);

// Replaces the file in one step.
absl::Status WriteState(const std::string& directory, const EnsembleState& state);

void RemoveState(const std::string& directory);

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_STATE_FILE_H_
